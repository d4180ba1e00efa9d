#include "cli/context.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <thread>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc::cli {
namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostDefaultThreads = 16;

int default_threads() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostDefaultThreads);
}

}  // namespace

std::optional<report::Format> format_of_path(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".json") return report::Format::json;
  if (extension == ".csv") return report::Format::csv;
  if (extension == ".md") return report::Format::markdown;
  if (extension == ".tex") return report::Format::latex;
  if (extension == ".txt") return report::Format::table;
  return std::nullopt;
}

void Context::add_options_to(CLI::App* app) {
  const char* group = "Global options";
  const Options add{app, group};
  add.text("--format", format_text_, "F",
           "table, json, csv, md or latex (else by the extension of -o)");
  add.text("-o,--output", output_text_, "FILE", "write the results there instead of stdout");
  add.text("--seed", seed_text_, "N", "seed of everything random (default 0)");
  add.text("--threads", threads_text_, "N", "threads (default: those of the machine, at most 16)");
  add.text("--device", device_, "D", "auto, cpu, cuda or cuda:N, a number of `scalecalc devices`");
  add.flag("--recompute", recompute_,
           "passes keep less and run forward twice: depth costs its square root in memory");
  add.text("--digits", digits_text_, "N", "significant digits of numbers");
  add.text("--color", color_, "WHEN", "auto, always or never");
  add.text("--curves", curves_, "WHEN",
           "sparklines in tables: auto (on a terminal), always or never");
  add.flag("--quiet", quiet_, "no progress bar and no notes");
}

void Context::resolve() {
  if (!format_text_.empty()) {
    format_ = report::format_from(format_text_);
  } else {
    format_ = format_of_path(output_text_).value_or(report::Format::table);
  }
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  seed_ = static_cast<std::uint64_t>(parse_integer("--seed", seed_text_, 0, kLargest, "1"));
  threads_ =
      threads_text_.empty()
          ? default_threads()
          : static_cast<int>(parse_integer("--threads", threads_text_, 1, kMostThreads, "2"));
  if (!digits_text_.empty()) {
    digits_ =
        static_cast<int>(parse_integer("--digits", digits_text_, 1, ExprLimits::digits, "10"));
  }
  check_device_name(device_, "--device");
  parse_choice("--color", color_, {"auto", "always", "never"});
  parse_choice("--curves", curves_, {"auto", "always", "never"});
  if (!is_folder_ && launch_.is_first()) output_ = Output(output_text_);
}

report::Style Context::style(const Output& output) const {
  report::Style style;
  const bool to_terminal = output.is_stdout() && !launch_.is_forwarded;
  if (to_terminal) style.width = terminal_width(STDOUT_FILENO);
  if (digits_ > 0) style.digits = std::min(digits_, 17);
  style.color =
      color_ == "always" || (color_ == "auto" && to_terminal && takes_color(STDOUT_FILENO));
  style.curves =
      curves_ == "always" || (curves_ == "auto" && to_terminal && is_terminal(STDOUT_FILENO));
  style.unicode = takes_unicode();
  return style;
}

void Context::emit(const report::Document& document) {
  clear_progress();
  if (!launch_.is_first()) return;
  output_.write(report::make_printer(format_, style(output_))->print(document));
}

void Context::emit_to_stdout(const report::Document& document) {
  clear_progress();
  if (!launch_.is_first()) return;
  const Output to_stdout;
  to_stdout.write(report::make_printer(format_, style(to_stdout))->print(document));
}

void Context::emit_text(std::string_view text) {
  clear_progress();
  if (!launch_.is_first()) return;
  output_.write(text);
}

Progress Context::progress() {
  if (quiet_ || !launch_.is_first() || !is_terminal(STDERR_FILENO)) return {};
  bar_ = std::make_unique<ProgressBar>();
  return [this](double done, const std::string& what) {
    if (bar_ != nullptr) bar_->update(done, what);
    return true;
  };
}

void Context::note(const std::string& line) {
  if (quiet_ || !launch_.is_first()) return;
  clear_progress();
  std::fprintf(stderr, "scalecalc: %s\n", base::printable(line).c_str());
}

}  // namespace scalecalc::cli
