#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/launch.hpp"
#include "cli/output.hpp"
#include "cli/plot_option.hpp"
#include "cli/progress.hpp"
#include "cli/reply.hpp"
#include "scalecalc/report.hpp"
#include "scalecalc/verify.hpp"

namespace CLI {
class App;
}

namespace scalecalc::cli {

/// The format a path's extension stands for: .json .csv .md .tex .txt.
std::optional<report::Format> format_of_path(const std::string& path);

/// Which of the options that several commands have one takes, beside those of its output.
struct Shared {
  bool seed = false, threads = false, device = false, recompute = false;
  bool digits = false, curves = false;
  bool folder = false;  ///< -o names one, which the command fills itself
  bool output = true;   ///< --format, -o, --color, --wide, --quiet
};
/// What real passes take.
inline constexpr Shared kPasses = {
    .seed = true, .threads = true, .device = true, .recompute = true, .digits = true};
/// The same, with results along a path that tables can draw.
inline constexpr Shared kPassesAlongPaths = {.seed = true,
                                             .threads = true,
                                             .device = true,
                                             .recompute = true,
                                             .digits = true,
                                             .curves = true};
/// Numbers and no work that takes long.
inline constexpr Shared kNumbers = {.digits = true};

/// What a run gives that is not printed: its results are to stand beside those of others.
struct Kept {
  report::Document document;
  std::optional<report::Figure> figure;
  const PlotOption* plot = nullptr;  ///< where the figure would be drawn
};

/// What the options that several commands take say, and where results go.
class Context {
 public:
  Context() = default;
  /// Results, texts and notes go into `reply`, which outlives it, and progress to the caller.
  Context(Reply& reply, Progress progress)
      : launch_(), reply_(&reply), reply_progress_(std::move(progress)) {}
  void add_options_to(CLI::App* app, const Shared& uses);
  /// Checks the global options. Throws Error.
  void resolve();
  /// The same of those that take lists, at the values of one run.
  void resolve_run();

  /// The chosen command; set by add_command.
  std::function<int()> command;
  std::string command_name;
  /// What it has to say before the shared options are looked at; set by add_command.
  std::function<void()> prepare;
  bool runs_on_all = false;  ///< of the processes that mpirun has started

  const Launch& launch() const { return launch_; }
  /// Those that share the work; nothing for one process. They outlive the command.
  void set_ranks(Ranks* ranks) { ranks_ = ranks; }
  Ranks* ranks() const { return ranks_; }

  report::Format format() const { return format_; }
  /// Whether --format says it, and not a file's extension.
  bool is_format_given() const { return !format_text_.empty(); }
  /// Whether --format or the extension of -o says it.
  bool is_format_chosen() const {
    return is_format_given() || format_of_path(output_text_).has_value();
  }
  /// -o may have any extension: what is written is a text of the command's own.
  void take_any_extension() { any_extension_ = true; }
  /// -o may have these too: ".html".
  void take_extensions(std::vector<std::string> extensions) { extensions_ = std::move(extensions); }
  /// As it is given; empty: it is not.
  const std::string& format_text() const { return format_text_; }
  void set_format(report::Format format) { format_ = format; }
  /// For a command that makes of a document only what one format shows: the format that it is read
  /// in. What stands beside other results in a table is read from its JSON.
  report::Format made_format() const {
    return kept_ != nullptr && format_ != report::Format::csv ? report::Format::json : format_;
  }
  std::uint64_t seed() const { return seed_; }
  int threads() const { return threads_; }
  /// What real passes are to use, into options that have PassOptions' names.
  template <class Options>
  void set_passes(Options& options) {
    options.seed = seed_;
    options.threads = threads_;
    options.device = device_;
    options.recompute = recompute_;
    if (takes_notes()) options.expect = [this](const PassWork& work) { announce(work); };
    if constexpr (requires { options.ranks; }) options.ranks = ranks_;
  }
  /// 0 when not asked for.
  int digits() const { return digits_; }

  /// Prints a document in the chosen format to where results go. Throws Error(fault). Here as
  /// below, of several ranks the first alone does anything.
  void emit(report::Document document);
  /// Draws a figure where --plot says, if it is given. Throws Error(fault).
  void draw(const PlotOption& plot, const report::Figure& figure);
  /// From now on emit() and draw() put what they are given there; null: they print again.
  void keep(Kept* kept) { kept_ = kept; }
  /// -o names a folder, which the command fills itself.
  void write_into_folder() { is_folder_ = true; }
  /// What -o says; "-" when it is not given.
  const std::string& output_path() const { return output_text_; }
  /// Prints a document to stdout whatever -o says. Throws Error(fault).
  void emit_to_stdout(const report::Document& document);
  /// Writes a text as it is, where results go. Throws Error(fault).
  void emit_text(const std::string& text);
  /// A bar on stderr when that is a terminal and --quiet is not given: of work that does not say
  /// how much of it is done.
  void start_progress(const std::string& what);
  /// The same of work that does. Of no bar: empty.
  Progress progress();
  /// Writes a text to standard output, on a terminal that is shorter by a pager. Throws
  /// Error(fault).
  void show(const std::string& text);
  /// --no-pager, wherever it stands.
  void refuse_pager() { pages_ = false; }
  /// Takes the bar away.
  void clear_progress() { bar_.reset(); }
  bool takes_notes() const { return !quiet_ && launch_.is_first(); }
  /// A line on stderr, unless --quiet.
  void note(const std::string& line);

 private:
  void announce(const PassWork& work);
  report::Style style(const Output& output) const;
  void write_to(const Output& output, const std::string& text);
  /// Throws Error(usage) for an extension of -o that says no format.
  void check_extension() const;

  Launch launch_ = launch_of_environment();
  Ranks* ranks_ = nullptr;
  Kept* kept_ = nullptr;
  Reply* reply_ = nullptr;
  Progress reply_progress_;
  std::string format_text_, threads_text_, digits_text_;  ///< empty: not given
  std::string output_text_ = "-";
  std::string seed_text_ = "0";
  std::string device_ = "auto";
  std::string color_ = "auto", curves_ = "auto";
  bool quiet_ = false, recompute_ = false, is_folder_ = false, wide_ = false;
  bool any_extension_ = false, pages_ = true, no_pager_ = false;
  std::vector<std::string> extensions_;
  report::Format format_ = report::Format::table;
  std::uint64_t seed_ = 0;
  int threads_ = 1, digits_ = 0;
  Output output_;
  std::unique_ptr<ProgressBar> bar_;
};

}  // namespace scalecalc::cli
