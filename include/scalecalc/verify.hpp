#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scalecalc/cluster.hpp"
#include "scalecalc/network.hpp"
#include "scalecalc/passes.hpp"
#include "scalecalc/scaling.hpp"
#include "scalecalc/trace.hpp"

/// What real passes give: by depth, with the exponents fitted to it, and beside what is predicted.
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

/// What gives the values of a sweep: real passes, or the moments propagated by quadrature.
enum class SweepEngine { passes, quadrature };
std::string to_string(SweepEngine);

/// Called with the share done, 0..1, from one thread at a time. Returning false stops the run.
using Progress = std::function<bool(double done, const std::string& what)>;

struct SweepOptions {
  ModelSpec model;                   ///< layers is replaced by each depth; alpha and lambda set
  std::vector<std::int64_t> layers;  ///< each 1..1000000
  /// Instead of several depths: the model of the one depth, with everything that grows with its
  /// width (scale_width) at each of these, 1..1e9. Not of a list of layers.
  std::vector<std::int64_t> widths = {};
  Quantity quantity = Quantity::delta_loss;
  /// With quadrature each value is predicted: one sample a depth, without a standard error. Seeds,
  /// device and ranks are not looked at.
  SweepEngine engine = SweepEngine::passes;
  Expr update;                          ///< the optimizer's rule in g and theta, without -eta
  std::optional<SecondRule> rest = {};  ///< what steps the parameters that this one does not
  ParameterSet parameters = ParameterSet::branch;
  int seeds = 8;  ///< 1..10000: seed, seed + 1, ...
  std::uint64_t seed = 0;
  int threads = 1;
  bool single_precision = false;  ///< float passes; actual_delta_loss is always in double
  double eta = 0.0;               ///< of actual_delta_loss; 0 chooses one small enough
  std::string device = "cpu";
  bool recompute = false;                            ///< as PassOptions has it
  std::function<void(const PassWork&)> expect = {};  ///< called once, before the first pass
  Ranks* ranks = nullptr;  ///< that share the passes; the result is the same on all of them
  Progress progress;
};

struct SweepPoint {
  std::int64_t layers = 0, decoder_layers = 0;  ///< the latter of two stacks
  std::int64_t width = 0;                       ///< of a sweep over widths
  double alpha = 1, lambda = 1;
  double value = 0;           ///< mean over seeds (median where the spread is large)
  double standard_error = 0;  ///< of that value; NaN for one seed
  double mean = 0, median = 0;
  std::vector<double> samples;  ///< one value a seed
};
/// The exponent is a line in the logarithms of size and value for each seed, then the mean over
/// seeds; where the variance over seeds of log value exceeds 0.1 at any size, the median, and so
/// for the values.
struct SweepResult {
  bool by_width = false;               ///< the sizes are widths, else depths
  std::vector<SweepPoint> points;      ///< by size, rising
  double exponent = 0;                 ///< d log value / d log size; NaN when there is none
  double exponent_standard_error = 0;  ///< over seeds; of the fit for one seed, NaN at two sizes
  std::string no_exponent;             ///< why there is none: one size, a value not positive, ...
  bool by_median = false;              ///< the spread over seeds is large: medians are used
  bool finite = true;                  ///< false when a pass gave an infinity or a NaN

  double size_of(const SweepPoint& point) const {
    return static_cast<double>(by_width ? point.width : point.layers);
  }
};

/// Runs sizes x seeds, spread over threads; the result does not depend on their number, nor on the
/// order and repetition of sizes. Seeds are the same at every size. Throws Error(input) for wrong
/// options or a network too large for memory (naming the limit), Error(usage) for a quantity
/// without a prediction under engine quadrature, Error(fault) when `progress` stops it.
SweepResult sweep(const SweepOptions& options);

/// The alpha and lambda that a scaling asks for, as formulas in N that hold at these depths.
struct ScalingPair {
  Expr alpha = 1, lambda = 1;
  std::vector<std::int64_t> layers;  ///< rising, two or more
  /// d ln(loss change)/d ln N that the pair promises, and without it (alpha = lambda = 1); nothing
  /// where that is no power of depth.
  double exponent = 0;
  std::optional<double> plain_exponent;
  bool at_any_depth = false;  ///< the formulas hold beyond `layers` too
  /// Of two stacks: the decoder's, formulas in N, M, and its depth M, in N.
  struct Decoder {
    Expr alpha = 1, lambda = 1, layers = Expr::symbol("N");
  };
  std::optional<Decoder> decoder = {};
};
/// Of the solved problem, at rising depths a factor of four apart up to problem.layers. Throws
/// Error(usage) for fewer than 2 layers, and what solve_scaling throws.
ScalingPair scaling_pair(const ScalingProblem& problem);
/// Of a published pair of that problem, at the same depths.
ScalingPair scaling_pair(const ScalingProblem& problem, const PublishedPair& published);
/// Of a pair solved for one block, at its reference depth and its own. Throws Error(usage) where
/// they are one.
ScalingPair scaling_pair(const ScalingProblem& problem, const ExactSolution& solution);
/// Of an encoder at `encoder_layers` and a decoder at `decoder_layers`: both depths grow in that
/// ratio, M rounded. What is promised at these depths is left to the moments.
ScalingPair scaling_pair_of_two(const ScalingPair& encoder, const ScalingPair& decoder,
                                std::int64_t encoder_layers, std::int64_t decoder_layers);

/// Real passes beside what a pair promises: the loss change of one step by depth.
struct ScalingVerification {
  SweepResult pair, plain;  ///< with the pair, and at alpha = lambda = 1
  double predicted = 0;     ///< exponent with the pair
  std::optional<double> predicted_plain;
  /// At few layers an exponent has terms of 1/N, and `predicted` is that of the moments at the same
  /// depths; this is theirs between the asked depth and `deeper` times it, and whether it is that
  /// of the promise. Nothing where the promise is no constant or its formulas hold at `layers`
  /// alone: then `predicted` is the promise.
  std::optional<double> predicted_deep;
  bool holds_deep = true;
  static constexpr std::int64_t deeper = 8;
  double tolerance = 0;  ///< max(0.1, 3 standard errors of the measured exponent)
  /// Every pass is finite, the exponent is within the tolerance, and it holds deep.
  bool passed = false;
};
/// `options` has the block and how to measure; its layers, alpha, lambda, engine and quantity are
/// replaced. Throws what sweep() throws.
ScalingVerification verify_scaling(const ScalingPair& pair, SweepOptions options);

/// The device of this rank, by device_of_rank, among those that are here; without ranks, `device`.
std::string device_here(const std::string& device, const Ranks* ranks);

/// Straight line through (x, y): slope and its standard error (from the residuals when there are
/// more than two points, else 0).
struct LineFit {
  double slope = 0, intercept = 0, slope_standard_error = 0;
};
LineFit fit_line(const std::vector<double>& x, const std::vector<double>& y);

// ---- predicted beside measured ------------------------------------------------------------------

/// One quantity of one place. Where the variance over seeds of its logarithm, predicted or
/// measured, exceeds 0.1 the logarithms are compared (`in_log_space`), and predicted and measured
/// are typical values: mean x exp(-variance/2), and the geometric mean over seeds.
struct Comparison {
  std::string path, kind;  ///< kind of a parameter: "parameter"
  std::string quantity;    ///< mean second cross grad_second grad_cross
  double predicted = 0, measured = 0;
  double standard_error = 0;  ///< of measured, from the scatter of the seeds
  double rounding = 0;        ///< absolute: how far rounding alone may move `measured`
  double band = 0;            ///< ok: |measured - predicted| <= band
  double z = 0;     ///< (measured - predicted)/sqrt(standard error^2 + predicted spread/seeds)
  bool ok = false;  ///< false too when a pass gave an infinity or a NaN
  bool in_log_space = false;
};

/// What a failure points at: the first failing place in the direction of the computation, the rule
/// that gives it, and what that rule took for granted (empty: nothing).
struct Cause {
  std::string path, quantity;
  std::string rule, assumption, condition;
  bool condition_holds = true;
};

struct Verification {
  std::vector<Comparison> sites, parameters;  ///< in the order of the forward pass
  /// Paths that only one side has; they fail.
  std::vector<std::string> unmatched;
  bool passed = false;
  std::optional<Comparison> worst;  ///< the largest |z|; failures first
  int seeds = 0;
  double confidence = 0;  ///< that a right prediction passes as a whole
  double quantile = 0;    ///< of Student's t for that many comparisons at once
  std::vector<Cause> causes;
  std::vector<Premise> assumptions;  ///< of the prediction
  std::size_t comparisons() const { return sites.size() + parameters.size(); }
  std::size_t failures() const;
};

/// Two tokens of uniform targets agree with the chance 1/classes. Where few pairs do in all seeds
/// together, their number is Poisson's, and the scatter over seeds does not show what one more or
/// less would change.
struct EqualTargets {
  Trace distinct;               ///< the prediction for targets that all differ
  double pairs_of_tokens = 0;   ///< expected number of equal pairs within a sequence, all seeds
  double pairs_of_samples = 0;  ///< the same of all pairs of a batch
};

struct CompareOptions {
  double confidence = 0.99;  ///< 0.5 .. 1 - 1e-9
  bool single_precision = false;
  const EqualTargets* equal_targets = nullptr;  ///< where the loss is a cross-entropy
  std::int64_t sequences = 1;  ///< of a batch, over which gradients of parameters are summed
  bool squared_error = false;  ///< dL/dy has the outputs y, and their rounding
};
/// Joins a prediction with samples of passes by path. Compared are second, cross, grad_second and
/// grad_cross of sites and second and grad_second of parameters, wherever they are predicted, and
/// means predicted not to vanish. The band is quantile x sqrt(standard error^2 + predicted
/// spread/seeds) + Figure.error + Figure.truncation: no fixed tolerance. Throws Error(input) for
/// fewer than 2 seeds, or samples of different numbers of seeds.
Verification compare(const Trace& predicted, const PassSamples& measured,
                     const CompareOptions& options = {});

struct VerifyOptions {
  int seeds = 16;  ///< 2..10000: seed, seed + 1, ...
  std::uint64_t seed = 0;
  int threads = 1;
  std::string device = "cpu";
  bool recompute = false;  ///< as PassOptions has it
  bool single_precision = false;
  std::function<void(const PassWork&)> expect = {};  ///< called once, before the first pass
  double confidence = 0.99;
  Ranks* ranks = nullptr;  ///< that share the seeds; the result is the same on all of them
  Progress progress;
};
/// propagate() beside sample_passes(). Throws as they do.
Verification verify_network(const Network& network, const VerifyOptions& options = {});

}  // namespace scalecalc
