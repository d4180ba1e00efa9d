#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scalecalc/gaussian.hpp"

/// Gains, fixed points and constants that follow from Gaussian moments: what keeps a signal's
/// second moment, and whether it stays kept. Source: docs/theory/gains.md#gains. Closed forms are
/// used where there are any, quadrature elsewhere.
namespace scalecalc {

/// The gains of an activation at its input u ~ N(mean, variance). Each is a factor on the standard
/// deviation of weights of variance 1/fan. What is empty stands in `unavailable` with its reason.
struct Gains {
  std::optional<Estimate> second;      ///< 1/sqrt(E phi^2): the next pre-activation gets second 1
  std::optional<Estimate> variance;    ///< 1/std(phi): the same after centring
  std::optional<Estimate> backward;    ///< 1/sqrt(E phi'^2): keeps the gradient's second moment
  std::optional<Estimate> compromise;  ///< sqrt(forward x backward)
  std::optional<Estimate> activation;  ///< s with E phi(s u)^2 = 1, nearest to 1
  std::optional<Estimate> q_slope;     ///< d ln E phi^2 / d ln variance
  std::optional<double> q_slope_activation;  ///< the same at the scaled input s u
  bool stable = true;                        ///< |q_slope| <= 1
  std::string note;                          ///< what is out of reach, and the nearest useful thing
  std::map<std::string, std::string> unavailable;  ///< "gain_backward": "phi jumps at ..."
  bool out_of_time = false;  ///< some of them stand there for a time limit of the program
};
/// Throws Error(input) where E phi^2 does not exist.
Gains gains(const Activation& activation, const GaussianInput& input);

/// Gains in many digits, under the names of JSON: gain_second, gain_variance, gain_backward,
/// gain_compromise, gain_activation (at mean 0), q_slope, q_slope_activation.
struct GainDigits {
  std::map<std::string, std::string> found;
  /// Those of which `gains` has no more than a double, with the reason.
  std::map<std::string, std::string> out_of_reach;
};
/// The gains that `known` has, to `digits` digits (1..100) from exact inputs.
GainDigits gain_digits(const Activation& activation, const Gains& known, const Rational& mean,
                       const Rational& variance, int digits);

/// A root with its residual.
struct Root {
  double value = 0;
  double residual = 0;
};

/// One (lambda, alpha) of an elu-like family lambda*phi_alpha with E = 0, E^2 = 1 at N(0,1).
struct SelfNormalizing {
  Root lambda, alpha;
  double slope_second = 0;  ///< E phi'^2 at the fixed point; infinite where phi jumps
  /// Slope of the map of the second moment (weights have mean 0, so the mean is forgotten).
  double q_slope = 0;
  bool stable = true;  ///< |q_slope| < 1
};
/// All solutions with alpha in the range, rising, each with its stability. A family is a registered
/// activation with one parameter ("selu" is elu, scaled) or an expression in x and a. Throws
/// Error(unsolvable) when there is none, Error(input) for a family without exactly one parameter.
std::vector<SelfNormalizing> solve_self_normalizing(const std::string& family, double alpha_min,
                                                    double alpha_max);
/// One of them to any number of digits (1..100), from its double, under its names; what is infinite
/// is left out.
std::map<std::string, std::string> self_normalizing_digits(const std::string& family,
                                                           const SelfNormalizing& solution,
                                                           int digits);
/// selu's constants to any number of digits (1..100): {lambda, alpha}.
std::pair<std::string, std::string> selu_constants(int digits);

/// phi/sqrt(E phi^2) and (phi - E phi)/std, and what they cost in slope: E phi'^2 before and after.
struct Tuned {
  Estimate scale, shift, centred_scale;  ///< phi * scale, and (phi - shift) * centred_scale
  std::optional<Estimate> slope_before, slope_after, centred_slope_after;  ///< none where phi jumps
  std::optional<Expr> scale_formula, centred_formula;                      ///< of the scales, in q
};
/// Throws Error(unsolvable) for a constant, which no scale makes a signal.
Tuned tuned(const Activation& activation, double variance = 1.0);
/// What tuned found, to `digits` digits (1..100) from the exact variance, under its names.
std::map<std::string, std::string> tuned_digits(const Activation& activation, const Tuned& solution,
                                                const Rational& variance, int digits);

/// Critical initialisation: chi = sw2 E phi'^2 = 1 at q* = sw2 E phi^2 + sb2.
struct Critical {
  Root weight_variance;
  double bias_variance = 0, q_star = 0;
  double q_slope = 0;  ///< d q'/d q at q*
  std::string note;
};
/// Throws Error(unsolvable) with the nearest useful thing when there is none.
Critical solve_critical(const Activation& activation, double bias_variance);
/// The pair (sw2, sb2) at which both chi and the slope of the q-map are 1. Throws
/// Error(unsolvable) when there is none.
Critical solve_critical_pair(const Activation& activation);
/// A solution to `digits` digits (1..100), from its double, under its names: at the exact bias
/// variance, or, without one, as the pair. Throws Error(unsolvable) where so many digits cannot be
/// told apart (a root that the map touches).
std::map<std::string, std::string> critical_digits(const Activation& activation,
                                                   const Critical& solution,
                                                   const std::optional<Rational>& bias_variance,
                                                   int digits);

struct FixedPoint {
  Root q_star;                 ///< second moment of the pre-activation, far down
  double q_slope = 0;          ///< d q'/d q there
  bool q_stable = true;        ///< |q_slope| < 1
  bool reached = false;        ///< where a stack that starts at q = 1 settles
  std::optional<Root> c_star;  ///< fixed correlation; none at q* = 0
  double chi = 0;  ///< sw2 E phi'^2 at q*: slope of the c-map at 1; infinite where phi jumps
  double activation_second = 0;                 ///< E phi^2 at q*
  double q_depth_scale = 0, c_depth_scale = 0;  ///< -1/ln(slope), infinite at criticality
  std::string phase;  ///< "ordered", "critical", "chaotic", "vanishes" (q* = 0)
  std::string note;   ///< when every q is fixed, and the like
};
/// Every fixed point with q from 0 to 1e8, the one that a stack from q = 1 reaches first. Throws
/// Error(unsolvable) when there is none (the signal explodes).
std::vector<FixedPoint> solve_fixed_points(const Activation& activation, double weight_variance,
                                           double bias_variance);
/// A point to `digits` digits (1..100), from its double and exact variances, under its names; what
/// is infinite is left out. Throws as critical_digits does.
std::map<std::string, std::string> fixed_point_digits(const Activation& activation,
                                                      const FixedPoint& point,
                                                      const Rational& weight_variance,
                                                      const Rational& bias_variance, int digits);

/// Standard normal truncated to [low, high]: its moments, the ratio of its variance to 1, and the
/// factor 1/std that corrects it.
struct TruncatedNormal {
  Estimate mean, variance, ratio, correction;
  std::vector<std::string> digits;  ///< mean, variance, std, correction, when asked
};
/// Bounds are decimals or fractions ("-2", "5/2"), "-inf" and "inf". Throws Error(input).
TruncatedNormal truncated_normal(const std::string& low, const std::string& high, int digits = 0);
TruncatedNormal truncated_normal(double low, double high, int digits = 0);

/// What a framework ships for an activation, beside the derived value.
struct FrameworkGain {
  std::string framework;  ///< pytorch, jax, flax, keras, mlx
  std::string function;   ///< "torch.nn.init.calculate_gain('tanh')"
  double value = 0;
  std::string formula;        ///< "5/3"
  double derived = 0;         ///< gain_second here, at N(0, 1)
  double settles_second = 0;  ///< second moment of the activation a deep stack settles at with it
  double chi = 0;             ///< factor of the gradient's second moment a layer, there
  std::string why;            ///< the reason for the difference
};
/// Empty for a name that no framework knows.
std::vector<FrameworkGain> framework_gains(const std::string& activation_name);

}  // namespace scalecalc
