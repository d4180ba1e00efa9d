#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/launch.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "scalecalc/report.hpp"
#include "scalecalc/verify.hpp"

namespace CLI {
class App;
}

namespace scalecalc::cli {

/// What the options that every command takes say, and where results go.
class Context {
 public:
  void add_options_to(CLI::App* app);
  /// Checks the global options. Throws Error.
  void resolve();

  /// The chosen command; set by add_command.
  std::function<int()> command;
  bool runs_on_all = false;  ///< of the processes that mpirun has started

  const Launch& launch() const { return launch_; }
  /// Those that share the work; nothing for one process. They outlive the command.
  void set_ranks(Ranks* ranks) { ranks_ = ranks; }
  Ranks* ranks() const { return ranks_; }

  report::Format format() const { return format_; }
  /// Whether --format says it, and not a file's extension.
  bool is_format_given() const { return !format_text_.empty(); }
  void set_format(report::Format format) { format_ = format; }
  std::uint64_t seed() const { return seed_; }
  int threads() const { return threads_; }
  /// What real passes are to use, into options that have PassOptions' names.
  template <class Options>
  void set_passes(Options& options) const {
    options.seed = seed_;
    options.threads = threads_;
    options.device = device_;
    options.recompute = recompute_;
    if constexpr (requires { options.ranks; }) options.ranks = ranks_;
  }
  /// 0 when not asked for.
  int digits() const { return digits_; }

  /// Prints a document in the chosen format to where results go. Throws Error(fault). Here as
  /// below, of several ranks the first alone does anything.
  void emit(const report::Document& document);
  /// -o names a folder, which the command fills itself.
  void write_into_folder() { is_folder_ = true; }
  /// What -o says; "-" when it is not given.
  const std::string& output_path() const { return output_text_; }
  /// Prints a document to stdout whatever -o says. Throws Error(fault).
  void emit_to_stdout(const report::Document& document);
  /// Writes a text as it is, where results go. Throws Error(fault).
  void emit_text(std::string_view text);
  /// A bar on stderr when that is a terminal and --quiet is not given; else it does nothing.
  Progress progress();
  /// Takes the bar away.
  void clear_progress() { bar_.reset(); }
  /// A line on stderr, unless --quiet.
  void note(const std::string& line);

 private:
  report::Style style(const Output& output) const;

  Launch launch_ = launch_of_environment();
  Ranks* ranks_ = nullptr;
  std::string format_text_, threads_text_, digits_text_;  ///< empty: not given
  std::string output_text_ = "-";
  std::string seed_text_ = "0";
  std::string device_ = "auto";
  std::string color_ = "auto", curves_ = "auto";
  bool quiet_ = false, recompute_ = false, is_folder_ = false;
  report::Format format_ = report::Format::table;
  std::uint64_t seed_ = 0;
  int threads_ = 1, digits_ = 0;
  Output output_;
  std::unique_ptr<ProgressBar> bar_;
};

/// The format a path's extension stands for: .json .csv .md .tex .txt.
std::optional<report::Format> format_of_path(const std::string& path);

}  // namespace scalecalc::cli
