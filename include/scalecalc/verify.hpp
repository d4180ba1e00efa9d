#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scalecalc/network.hpp"

/// What real passes give, by depth, and the exponents fitted to it.
namespace scalecalc {

enum class Quantity {
  delta_loss,         ///< -<g, dtheta>/eta of one step, first order, summed over matrices
  actual_delta_loss,  ///< (loss before - loss after)/eta of a real small step on the same set
  grad_norm,          ///< sqrt of the summed squared gradients
  update_ratio,       ///< |dtheta|/(eta |theta|), root mean square over matrices
  probe,              ///< |dL/dlambda| = |<dL/dW, U>|, root mean square over matrices
};
std::string to_string(Quantity);
/// Throws Error(input) with the nearest name.
Quantity quantity_from(std::string_view name, const std::string& where = "--quantity");
const std::vector<std::string>& quantity_names();

enum class ParameterSet { branch, all };

/// Called with the share done, 0..1, from one thread at a time. Returning false stops the run.
using Progress = std::function<bool(double done, const std::string& what)>;

struct SweepOptions {
  ModelSpec model;                   ///< layers is replaced by each depth; alpha and lambda set
  std::vector<std::int64_t> layers;  ///< each 1..1000000
  Quantity quantity = Quantity::delta_loss;
  Expr update;  ///< the optimizer's rule in g and theta, without -eta
  ParameterSet parameters = ParameterSet::branch;
  int seeds = 8;  ///< 1..10000: seed, seed + 1, ...
  std::uint64_t seed = 0;
  int threads = 1;
  bool single_precision = false;  ///< float passes; actual_delta_loss is always in double
  double eta = 0.0;               ///< of actual_delta_loss; 0 chooses one small enough
  std::string device = "cpu";
  Progress progress;
};

struct SweepPoint {
  std::int64_t layers = 0;
  double alpha = 1, lambda = 1;
  double value = 0;           ///< mean over seeds (median where the spread is large)
  double standard_error = 0;  ///< of that value; NaN for one seed
  double mean = 0, median = 0;
  std::vector<double> samples;  ///< one value a seed
};
/// The exponent is a line in log N and log value for each seed, then the mean over seeds; where the
/// variance over seeds of log value exceeds 0.1 at any depth, the median, and so for the values.
struct SweepResult {
  std::vector<SweepPoint> points;      ///< by depth, rising
  double exponent = 0;                 ///< d log value / d log N; NaN when there is none
  double exponent_standard_error = 0;  ///< over seeds; of the fit for one seed, NaN at two depths
  std::string no_exponent;             ///< why there is none: one depth, a value not positive, ...
  bool by_median = false;              ///< the spread over seeds is large: medians are used
  bool finite = true;                  ///< false when a pass gave an infinity or a NaN
};

/// Runs depths x seeds, spread over threads; the result does not depend on their number, nor on the
/// order and repetition of depths. Seeds are the same at every depth. Throws Error(input) for wrong
/// options or a network too large for memory (naming the limit), Error(fault) when `progress` stops
/// it.
SweepResult sweep(const SweepOptions& options);

/// Straight line through (x, y): slope and its standard error (from the residuals when there are
/// more than two points, else 0).
struct LineFit {
  double slope = 0, intercept = 0, slope_standard_error = 0;
};
LineFit fit_line(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace scalecalc
