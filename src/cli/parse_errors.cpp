#include "cli/parse_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "scalecalc/symbolic.hpp"

namespace scalecalc::cli {
namespace {

std::string quoted(const std::string& text) {
  return fmt::format("'{}'", base::shortened(text));
}

bool looks_like_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-';
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& known,
                         const std::string& otherwise) {
  const std::vector<std::string> near = nearest_names(name, known);
  return near.empty() ? otherwise : "did you mean " + quoted(near.front()) + "? " + otherwise;
}

/// Whether other commands have an option that this one has not.
bool is_known_elsewhere(const CLI::App& command, const std::string& option) {
  return command.get_parent() != nullptr &&
         command.get_parent()->get_option_no_throw(option) != nullptr;
}

Error unexpected_word(const CLI::App& command, const std::string& word) {
  const std::string name = full_name(command);
  const std::string help = name + " --help lists what there is";
  if (looks_like_option(word)) {
    const std::string option = word.substr(0, word.find('='));
    if (is_known_elsewhere(command, option))
      return Error(ErrorKind::usage, "unknown option " + quoted(option), name,
                   "this command has no use for it; " + help);
    return Error(ErrorKind::usage, "unknown option " + quoted(option), name,
                 did_you_mean(option, option_names(command), help));
  }
  if (command.get_parent() == nullptr) {
    return unknown_name("command", word, command_names(command), "", ErrorKind::usage);
  }
  return Error(ErrorKind::usage, "unexpected argument " + quoted(word), name, help);
}

/// A value that begins with -- is the next option: the value itself is missing, as is an empty one.
void check_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      const bool is_option = value.rfind("--", 0) == 0;
      if (is_option && option->get_positional()) throw unexpected_word(command, value);
      if (is_option || value.empty()) {
        throw Error(ErrorKind::usage, option->get_name() + " needs a value",
                    is_option ? "the next word is " + quoted(value) : "this one is empty",
                    full_name(command) + " --help says which");
      }
    }
  }
}

}  // namespace

Error describe(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  if (error.get_name() == "ArgumentMismatch") {
    if (text.find("missing") != std::string::npos) {
      return Error(ErrorKind::usage, base::shortened(option) + " needs a value", "",
                   "--help says which");
    }
    return Error(ErrorKind::usage, option + " is given more than once", "", "give it once");
  }
  if (error.get_name() == "ConversionError") {
    // "Could not convert: --quiet = loud"
    const std::size_t flag = std::min(text.find("--"), text.size());
    return Error(ErrorKind::usage, "a flag takes no such value", base::shortened(text.substr(flag)),
                 "give the flag alone");
  }
  return Error(ErrorKind::usage, base::shortened(text, 160), "", "--help lists what there is");
}

void check_parsed(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App* command = chosen.empty() ? nullptr : chosen.front();
  check_values(app);
  const std::vector<std::string> left = app.remaining(false);
  if (!left.empty()) throw unexpected_word(app, left.front());
  if (command == nullptr) {
    throw Error(ErrorKind::usage, "no command", "",
                "for example scalecalc deepnorm --layers 1000 --optimizer adam; scalecalc --help "
                "lists the commands");
  }
  check_values(*command);
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0 && command->get_option_no_throw(option->get_name()) == nullptr)
      throw unexpected_word(*command, option->get_name());
  const std::vector<std::string> extra = command->remaining(false);
  if (!extra.empty()) throw unexpected_word(*command, extra.front());
}

report::Format requested_format(int argc, char** argv) {
  const std::string option = "--format";
  std::string format;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == option && i + 1 < argc) format = argv[i + 1];
    if (word.rfind(option + "=", 0) == 0) format = word.substr(option.size() + 1);
  }
  return format == "json" ? report::Format::json : report::Format::table;
}

}  // namespace scalecalc::cli
