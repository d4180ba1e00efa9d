#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/passes.hpp"
#include "scalecalc/trace.hpp"
#include "scalecalc/transfer.hpp"

/// The coordinate check (Yang et al. 2022, Tensor Programs V, appendix D.1): how large every site
/// is, and how far it has moved since init, in the first steps of training, for one model at
/// several sizes (docs/guide/coordinates.md).
namespace scalecalc {

/// The model where the axis has this size.
struct CoordinateSize {
  double size = 0;  ///< > 0
  ModelSpec model;
};
struct CoordinateOptions {
  GrowthAxis axis = GrowthAxis::width;
  std::vector<CoordinateSize> sizes;  ///< two at least, in rising order; the first is the base
  /// Each size has the base's numbers times what this says; nothing: each starts as its own spec
  /// says, and steps by the base's learning rate.
  std::optional<Parametrization> parametrization;
  std::string optimizer = "adamw";  ///< as optimizer_options() takes it; without decay
  double lr = 1e-3;                 ///< of the base, > 0
  double rest_lr = 1e-3;            ///< of a mixture's second optimizer, and of muon's adamw; > 0
  int steps = 4;                    ///< 1..10000
  int seeds = 4;                    ///< draws a size, 1..100000
  PassOptions passes;
  std::function<bool(double done)> progress = {};  ///< false stops it: Error(fault)
};

/// A site at one size. Squares are averages over features, tokens, sequences, and the blocks that
/// the site stands in.
struct CoordinatePoint {
  std::vector<std::vector<double>> second;  ///< [step][seed], of x^2; step 0 is before the first
  std::vector<std::vector<double>> change;  ///< likewise of (x - x before the first step)^2
  /// Of x^2 before the first step, from moments.
  Figure predicted_second;
  /// [step], up to predicted_steps; of step 0 unknown, and empty where there is no rule.
  std::vector<Figure> predicted_change;
};
/// Later steps are no longer those of the first gradient.
inline constexpr int predicted_steps = 10;
struct CoordinateSite {
  std::string path;  ///< of all blocks: "block[*].attn.q"
  std::string kind;
  std::vector<CoordinatePoint> points;  ///< by size
};
struct CoordinateCheck {
  std::vector<CoordinateSite> sites;                   ///< in the order of the forward pass
  std::vector<std::vector<std::vector<double>>> loss;  ///< [size][step][seed]
  /// Numbers that go with another power of the size than stable ones whose steps move features the
  /// most.
  std::vector<TransferFinding> findings;
  std::map<std::string, double> base_lr;  ///< of each tensor of a finding of its lr
  std::vector<std::string> remarks;       ///< of what was assumed, or is missing
  bool finite = true;                     ///< false: a pass gave an infinity or a NaN
};
/// Throws Error(input) for options out of their ranges, and as transferred_network() and
/// sample_steps() do.
CoordinateCheck coordinate_check(const CoordinateOptions& options);

/// The power of the size that a root mean square goes with: the mean, over seeds, of the slopes of
/// its logarithm, and the standard error of that mean.
struct SizeLaw {
  double exponent = 0, standard_error = 0;  ///< NaN where nothing tells it: of one seed
};
enum class Coordinate { value, change };
/// Nothing where the square of a seed is 0 or not finite at some size. `step` is one of those that
/// were measured.
std::optional<SizeLaw> measured_law(const std::vector<double>& sizes, const CoordinateSite& site,
                                    Coordinate coordinate, std::size_t step);
/// Of what was predicted: of values before the first step, of changes after so many. Nothing where
/// nothing was.
std::optional<double> predicted_exponent(const std::vector<double>& sizes,
                                         const CoordinateSite& site, Coordinate coordinate,
                                         std::size_t step = 1);
/// Of one size, likewise.
const Figure& predicted_square(const CoordinatePoint& point, Coordinate coordinate,
                               std::size_t step = 1);

/// A coordinate check that was measured elsewhere.
struct MeasuredSite {
  std::string path;
  std::vector<std::vector<double>> values;  ///< [step][size] of the table; NaN: it has none
};
struct MeasuredTable {
  std::string axis;                 ///< the name of the column: "width"
  std::string quantity;             ///< likewise: "rms"
  std::vector<double> sizes;        ///< two at least, rising
  std::vector<std::int64_t> steps;  ///< rising; the first is that of the init
  std::vector<MeasuredSite> sites;  ///< in the order of the table
};
/// Of a CSV with the columns site (or module), width, depth, layers or size, step (or t), and one
/// of rms, mean_abs, l1, l2, mean or value; others are passed over. Rows of the same site, size and
/// step, of other seeds, are averaged. `name` stands for the file in messages. Throws Error(input)
/// with the line: no such column, a value that is no number or below 0, a size that is not
/// above 0, fewer than two sizes.
MeasuredTable parse_measured(std::string_view csv, const std::string& name);

/// What a measured site does as the size grows.
enum class Trend {
  steady,
  grows_at_init,      ///< at the first step of the table, where that is 0 or 1
  grows_in_training,  ///< at the last step, and not so at the first
  falls,              ///< at the last step; the last site of a table, whose logits may, is steady
  diverges,           ///< an infinity or a NaN stands in the table
  unknown             ///< 0 or missing at some size, or beyond steady by less than its error
};
std::string to_string(Trend trend);
/// Powers of the size within this of 0, and two standard errors of the fit, are steady: after four
/// steps of set-ups that are right, at widths from 64, they lie from -0.1 to 0.05.
inline constexpr double steady_power = 0.15;
struct MeasuredTrend {
  std::string path;
  std::optional<SizeLaw> first, last;  ///< of the first step, and of the last; NaN of two sizes
  Trend trend = Trend::steady;
};
std::vector<MeasuredTrend> trends_of(const MeasuredTable& table);

}  // namespace scalecalc
