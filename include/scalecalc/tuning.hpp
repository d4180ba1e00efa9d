#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scalecalc/optimum.hpp"
#include "scalecalc/train.hpp"
#include "scalecalc/transfer.hpp"

/// Transfer, measured: one model at several sizes, trained over a grid of learning rates and other
/// numbers, and the power of the size that the best one goes with (docs/guide/tuning.md).
namespace scalecalc {

/// A number of training that a grid may have.
struct TuningKey {
  std::string name, meaning;
  double least = 0, most = 0;
  bool is_whole = false;
};
/// lr rest-lr decay eps warmup ... in the order of the help.
const std::vector<TuningKey>& tuning_keys();
/// Throws Error(input) with the nearest name.
const TuningKey& tuning_key(std::string_view name, const std::string& where = "--grid");

/// One of its edges.
struct GridAxis {
  std::string key;
  std::vector<double> values;  ///< rising
};

/// Whose learning rates a grid's values are.
enum class RateSharing {
  shared,  ///< one number for every parameter and size, as the grid has it
  solved   ///< the base's: each parameter has it times what the solver says of it at its size, and
           ///< so have decay and eps
};
const std::vector<std::string>& rate_sharing_names();

struct TuningSize {
  std::int64_t width = 0, layers = 0;
  ModelSpec model;
};
struct TuningOptions {
  /// One group; model, depths are those of the sizes; what the grid has not is its optimizer's.
  TrainOptions train;
  /// Two at least, the first is the base; the others differ from it in width or in depth alone.
  std::vector<TuningSize> sizes;
  std::vector<GridAxis> grids;  ///< the first is what is searched: three values at least, above 0
  /// Nothing: the model's own inits at each size.
  std::optional<Parametrization> parametrization;
  /// Nothing: shared without a parametrisation and under standard, whose definition is one rate;
  /// else solved.
  std::optional<RateSharing> rates;
};

/// What the solver says of the number that is searched: the power of the size that its best value
/// goes with.
struct TuningPrediction {
  GrowthAxis axis = GrowthAxis::width;
  std::optional<Rational> exponent;  ///< nothing where it has no rule
  std::string because;
};
/// What a folder remembers of its grid.
struct TuningSetup {
  std::vector<std::string> keys;  ///< of the grid; the first is searched
  std::string parametrization;    ///< its name; "own" without one
  RateSharing rates = RateSharing::shared;
  std::int64_t base_width = 0, base_layers = 0;
  std::vector<TuningPrediction> predictions;  ///< of the axes that grow
  /// A run of fewer steps is the beginning of a longer one: no schedule and no ramp ends with it.
  bool is_open_ended = false;
};

/// Trains each size at each point of the grid, for each seed, as train() does: in a folder, to go
/// on from, by ranks. Throws Error(input) for options out of their ranges, for keys that change
/// nothing for this optimizer, and as transferred_network() does; for a folder of another
/// experiment, of which other sizes, values or seeds are none.
std::vector<TrainRun> train_grid(const Corpus& corpus, const TuningOptions& options);
/// Throws likewise.
TuningSetup tuning_setup(const Corpus& corpus, const TuningOptions& options);

/// Of a folder that train_grid() filled. Throws Error(input) for another.
TuningSetup tuning_setup(const TrainFolder& folder);

/// One size.
struct TunedSize {
  std::int64_t width = 0, layers = 0;
  std::vector<CurvePoint> curve;  ///< final losses of validation
  /// Nothing of fewer than three values.
  std::optional<CurveOptimum> optimum;
};
/// What runs of so many steps would have found.
struct TunedLaw {
  std::int64_t steps = 0;
  std::vector<std::optional<CurveOptimum>> optima;  ///< by size
  OptimumLaw law;
};
/// The sizes of one axis, with the same numbers beside the one that is searched.
struct TunedCurves {
  GrowthAxis axis = GrowthAxis::width;
  std::vector<std::pair<std::string, double>> others;
  std::vector<TunedSize> sizes;  ///< rising
  OptimumLaw law;
  TuningPrediction prediction;
  /// At each step that is recorded but the first, in rising order, the last included; empty where
  /// the setup is not open-ended or there is the last alone.
  std::vector<TunedLaw> course;

  double size_of(const TunedSize& size) const {
    return static_cast<double>(axis == GrowthAxis::width ? size.width : size.layers);
  }
};
/// Of these runs, all of them finished. At each size the values and seeds that make the most runs,
/// each value with each seed: while a grid is being trained, its last values have fewer.
std::vector<TunedCurves> tuned_curves(const TuningSetup& setup, const std::vector<TrainRun>& runs);

// ---- placements, each at its own best -----------------------------------------------------------

/// Trains every placement of the options at every depth and every point of the grid, for each seed,
/// as train() does: the same cost for each. Throws as train() does, for an axis without a value,
/// and for keys that change nothing for this optimizer.
std::vector<TrainRun> train_placement_grid(const Corpus& corpus, const TrainOptions& options,
                                           const std::vector<GridAxis>& grids);
/// The keys of a folder that it has filled; empty for another folder.
std::vector<std::string> placement_grid_keys(const TrainFolder& folder);

/// One point of the grid, of a placement at a depth.
struct GridPoint {
  std::vector<std::pair<std::string, double>> values;  ///< by key
  std::vector<double> losses;  ///< final ones of validation, by seed; infinite where it diverged
  int converged = 0;
  int as_forecast = 0;  ///< runs that converged, or did not, as was to be expected

  double mean() const;
};
/// A placement at a depth.
struct BestOfGrid {
  std::string group;
  std::int64_t layers = 0;
  std::vector<std::uint64_t> seeds;
  std::vector<GridPoint> points;  ///< that every seed has finished
  int runs = 0, as_forecast = 0;  ///< of all points
  /// Index of the point of the lowest mean loss, the first of equals; nothing where all diverged.
  std::optional<std::size_t> best;
  /// Mean over the seeds of the loss at the point that the other seeds find best: what is chosen by
  /// the least of several numbers is too good by their noise, this is not. NaN of one seed.
  double held_out = 0, held_out_error = 0;

  /// The best of the points that have this value.
  std::optional<std::size_t> best_with(const std::string& key, double value) const;
};
/// Of finished runs, in the order in which placements and depths come.
std::vector<BestOfGrid> best_of_grid(const std::vector<TrainRun>& runs);

/// How a placement's best learning rate goes with depth.
struct BestRateLaw {
  struct AtDepth {
    std::int64_t layers = 0;
    CurveOptimum optimum;
  };
  std::string group;
  std::vector<AtDepth> depths;  ///< rising; each over the other numbers of the grid at their best
  OptimumLaw law;
  TuningPrediction prediction;  ///< the transfer solver's, of the model's own inits
};
/// Of placements that a grid of three learning rates or more has at two depths or more. `model`
/// gives that of a placement at a depth.
std::vector<BestRateLaw> best_rate_laws(
    const std::vector<BestOfGrid>& cells, const OptimizerOptions& optimizer,
    const std::function<ModelSpec(const std::string& group, std::int64_t layers)>& model);

}  // namespace scalecalc
