#pragma once

#include <string>
#include <vector>

#include "cli/json_form.hpp"
#include "cli/options.hpp"
#include "scalecalc/plot.hpp"
#include "scalecalc/tuning.hpp"

/// `train --grid`: the best learning rate by size.
namespace scalecalc::cli {

struct TuningFlags {
  std::vector<std::string> grid;
  std::string widths, parametrization, rates;

  void add_to(CLI::App* app);
  bool is_given() const { return !grid.empty(); }
  /// Throws Error(usage) for an option that changes nothing without a grid.
  void refuse_idle() const;
};

/// "lr=1e-4:1e-1:x2" or "decay=0,0.01,0.1". Throws Error(input).
GridAxis parse_grid_axis(const std::string& text);

/// The sizes, the grid and how numbers go between them, beside what `train` has made of its other
/// options. `depths`: those that were given, rising; empty: the model's own.
TuningOptions tuning_options(const TuningFlags& flags, const TrainOptions& train,
                             const std::vector<std::int64_t>& depths);

/// Of several placements, each at every point of the grid. Throws Error(usage) for options that are
/// of one placement at several sizes.
std::vector<GridAxis> placement_axes(const TuningFlags& flags);

/// What came of a grid, or what a folder has of it.
struct TuningAnswer {
  TuningSetup setup;
  std::vector<TrainRun> runs;  ///< that are finished
  std::string optimizer;
  std::int64_t steps = 0;
  std::vector<TunedCurves> curves;
};
TuningAnswer tuning_answer(TuningSetup setup, std::vector<TrainRun> runs, std::string optimizer,
                           std::int64_t steps);
/// Of a folder of train_grid().
TuningAnswer tuning_answer(const TrainFolder& folder);

report::Value tuning_value(const TuningAnswer& answer);
/// The schema of that.
Shape tuning_shape();
/// A line a size and value.
report::Table tuning_rows(const TuningAnswer& answer);
std::vector<report::Section> tuning_sections(const TuningAnswer& answer);

/// Loss against what is searched, one curve a size, and the optimum against the size: two panels
/// for each of TuningAnswer::curves.
std::vector<report::Plot> tuning_plots(const TuningAnswer& answer);

}  // namespace scalecalc::cli
