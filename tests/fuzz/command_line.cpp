#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "cli/app.hpp"
#include "fuzz/fuzz.hpp"

/// Command lines: each line of the input is a word. Commands that compute little are run, for at
/// most a fifth of a second; of the others, whose work may take hours, a word that no command has
/// stands behind the line, so that all of it is parsed and the work does not begin. The program
/// that is linked here is the ordinary one: what is told to libFuzzer instead of its edges is which
/// messages it has given.
namespace scalecalc::fuzz {
namespace {

constexpr std::chrono::milliseconds kLongest{200};
constexpr std::size_t kMostWords = 24;
constexpr std::array<std::string_view, 10> kRun = {
    "activation", "convention", "deepnorm", "explain", "help",
    "init",       "list",       "presets",  "schema",  "solve"};
/// Words that would write a file, wait for one or start another program.
constexpr std::array<std::string_view, 3> kNotTaken = {"--output", "--plot", "--verify"};

bool is_taken(std::string_view word) {
  // Flags of one letter may stand in one word: -qo.
  const bool has_short_output =
      word.starts_with('-') && !word.starts_with("--") && word.find('o') != std::string_view::npos;
  return word != "-" && !has_short_output && word.find('/') == std::string_view::npos &&
         std::none_of(kNotTaken.begin(), kNotTaken.end(),
                      [&](std::string_view start) { return word.starts_with(start); });
}

/// Counters that libFuzzer looks at like those of edges; nothing here reads them.
__attribute__((section("__libfuzzer_extra_counters"),
               used)) volatile std::uint8_t messages[1 << 14];

/// Messages that differ in their digits and in what they quote are one.
void remember(std::string_view message) {
  std::string kind;
  bool is_quoted = false;
  for (const char c : message) {
    if (c == '\'') is_quoted = !is_quoted;
    if (!is_quoted && (c < '0' || c > '9')) kind += c;
  }
  messages[std::hash<std::string>{}(kind) % std::size(messages)] = 1;
}

std::vector<std::string> words_of(std::string_view input) {
  std::vector<std::string> words;
  for (Halves cut{{}, input}; !cut.rest.empty() && words.size() < kMostWords;) {
    cut = halves(cut.rest, '\n');
    // An argument of a process ends at its first zero byte.
    words.emplace_back(cut.first.substr(0, cut.first.find('\0')));
  }
  return words;
}

void run(const std::vector<std::string>& words) {
  std::vector<const char*> arguments = {"scalecalc"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  if (std::find(kRun.begin(), kRun.end(), words.front()) == kRun.end())
    arguments.push_back("--no-option-is-called-so");
  cli::Reply reply;
  cli::Context context(reply, {});
  const base::Deadline soon(base::Deadline::Clock::now() + kLongest, "stopped");
  cli::run_command(context, static_cast<int>(arguments.size()), arguments.data(), cli::commands(),
                   words.front());
  for (const std::string& note : reply.notes) remember(note);
}

}  // namespace

void one(std::string_view input) {
  static const bool is_there = [] {
    std::filesystem::current_path(folder());
    return true;
  }();
  const std::vector<std::string> words = words_of(input);
  if (!is_there || words.empty() || !std::all_of(words.begin(), words.end(), is_taken)) return;
  accepts([&] {
    try {
      run(words);
      remember(words.front());
    } catch (const Error& error) {
      remember(error.what());
      throw;
    }
  });
}

}  // namespace scalecalc::fuzz
