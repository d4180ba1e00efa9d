#include "cli/context.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <thread>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/pager.hpp"
#include "cli/terminal.hpp"
#include "cli/work_note.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc::cli {
namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostDefaultThreads = 16;

const std::vector<std::string> kWhen = {"auto", "always", "never"};

/// Those that name a kind; a number may stand behind cuda.
std::vector<std::string> device_names() {
  return {"auto", "cpu", "cpu+eigen", "cuda"};
}

/// A device, a pipe: nothing that a name's end could say of its content.
bool is_special_file(const std::string& path) {
  std::error_code ignored;
  return path == "-" || std::filesystem::is_other(path, ignored);
}

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

void Context::add_options_to(CLI::App* app, const Shared& uses) {
  const Options work{app, "Work"};
  if (uses.seed) work.axis("--seed", seed_text_, "N", "seed of everything random");
  if (uses.threads)
    work.text(
        "--threads", threads_text_, "N",
        fmt::format("threads (default: those of the machine, at most {})", kMostDefaultThreads));
  if (uses.device)
    work.axis("--device", device_, {"D", device_names}, "cpu, cpu+eigen, cuda, cuda:N or auto");
  if (uses.recompute)
    work.flag("--recompute", recompute_,
              "keep less and run forward twice: memory grows as the root of depth");
  if (!uses.output) return;
  const Options add{app, "Output"};
  add.text("--format", format_text_, {"F", report::format_names},
           "table, json, csv, md or latex (default: by the extension of -o)");
  if (uses.folder)
    add.text("-o,--output", output_text_, types::folder(), "the folder that is filled");
  else
    add.text("-o,--output", output_text_, types::file(),
             "write the results there; - is standard output");
  if (uses.digits) add.text("--digits", digits_text_, "N", "significant digits of numbers");
  if (uses.curves)
    add.text("--curves", curves_, {"WHEN", kWhen},
             "sparklines in tables: auto (on a terminal), always or never");
  add.flag("--wide", wide_, "every column of a table, however wide the terminal is");
  add.text("--color", color_, {"WHEN", kWhen}, "auto, always or never");
  add.flag("--no-pager", no_pager_, "no pager on a terminal, however long the results are");
  add.flag("--quiet", quiet_, "no progress bar and no notes");
}

void Context::check_extension() const {
  if (is_format_given() || any_extension_ || is_folder_ || is_special_file(output_text_)) return;
  const std::string extension = std::filesystem::path(output_text_).extension().string();
  if (extension.empty() || format_of_path(output_text_)) return;
  if (std::find(extensions_.begin(), extensions_.end(), extension) != extensions_.end()) return;
  std::string known = ".txt, .json, .csv, .md or .tex";
  for (const std::string& one : extensions_) known = one + ", " + known;
  throw Error(ErrorKind::usage, "no format has the extension " + base::shortened(extension),
              "-o " + base::shortened(output_text_), "use " + known + ", or say --format");
}

void Context::resolve() {
  if (prepare) prepare();
  if (!format_text_.empty()) {
    format_ = report::format_from(format_text_);
  } else {
    format_ = format_of_path(output_text_)
                  .value_or(reply_ != nullptr ? report::Format::json : report::Format::table);
  }
  threads_ =
      threads_text_.empty()
          ? default_threads()
          : static_cast<int>(parse_integer("--threads", threads_text_, 1, kMostThreads, "2"));
  if (!digits_text_.empty()) {
    digits_ =
        static_cast<int>(parse_integer("--digits", digits_text_, 1, ExprLimits::digits, "10"));
  }
  parse_choice("--color", color_, kWhen);
  parse_choice("--curves", curves_, kWhen);
  check_extension();
  if (!is_folder_ && launch_.is_first()) output_ = Output(output_text_);
}

void Context::resolve_run() {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  seed_ = static_cast<std::uint64_t>(parse_integer("--seed", seed_text_, 0, kLargest, "1"));
  check_device_name(device_, "--device");
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
  style.elide = to_terminal && is_terminal(STDOUT_FILENO) && !wide_;
  return style;
}

void Context::emit(report::Document document) {
  clear_progress();
  if (kept_ != nullptr) {
    kept_->document = std::move(document);
    return;
  }
  if (!launch_.is_first()) return;
  if (reply_ != nullptr) {
    document.results = whole(document.results);
    reply_->document = std::move(document);
    return;
  }
  write_to(output_, report::make_printer(format_, style(output_))->print(document));
}

void Context::draw(const PlotOption& plot, const report::Figure& figure) {
  if (!plot.is_given()) return;
  if (kept_ != nullptr) {
    kept_->figure = figure;
    kept_->plot = &plot;
  } else if (launch_.is_first()) {
    plot.write(figure);
  }
}

void Context::emit_to_stdout(const report::Document& document) {
  clear_progress();
  if (!launch_.is_first()) return;
  const Output to_stdout;
  write_to(to_stdout, report::make_printer(format_, style(to_stdout))->print(document));
}

void Context::emit_text(const std::string& text) {
  clear_progress();
  if (!launch_.is_first()) return;
  if (reply_ != nullptr) {
    reply_->text += text;
    return;
  }
  write_to(output_, text);
}

void Context::show(const std::string& text) {
  write_to(Output(), text);
}

void Context::write_to(const Output& output, const std::string& text) {
  const bool may_page = output.is_stdout() && pages_ && !launch_.is_forwarded;
  if (!may_page || !show_in_pager(text)) output.write(text);
}

void Context::start_progress(const std::string& what) {
  if (reply_ != nullptr || quiet_ || !launch_.is_first() || !is_terminal(STDERR_FILENO)) return;
  if (bar_ == nullptr) bar_ = std::make_unique<ProgressBar>(what);
}

Progress Context::progress() {
  if (reply_ != nullptr) return reply_progress_;
  start_progress("");
  if (bar_ == nullptr) return {};
  bar_->start();
  return [this](double done, const std::string& what) {
    if (bar_ != nullptr) bar_->update(done, what);
    return true;
  };
}

void Context::announce(const PassWork& work) {
  const std::string line = work_note(work, threads_, device_);
  if (!line.empty()) note(line);
}

void Context::note(const std::string& line) {
  if (!takes_notes()) return;
  if (reply_ != nullptr) {
    reply_->notes.push_back(base::printable(line));
    return;
  }
  const std::string text = "scalecalc: " + base::printable(line) + "\n";
  bar_ != nullptr ? bar_->write(text) : static_cast<void>(std::fputs(text.c_str(), stderr));
}

}  // namespace scalecalc::cli
