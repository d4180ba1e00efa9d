#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scalecalc/activation.hpp"

/// Expectations of activations over Gaussian inputs: closed form, quadrature, Monte Carlo, each on
/// its own. u ~ N(mean, variance); a pair (u, v) has equal means and variances and correlation c.
namespace scalecalc {

/// What is averaged. Names as in JSON; all are raw moments.
enum class Moment {
  mean,          ///< E phi(u)
  second,        ///< E phi(u)^2
  slope_mean,    ///< E phi'(u)
  slope_second,  ///< E phi'(u)^2; infinite where phi jumps
  fourth,        ///< E phi(u)^4
  cross,         ///< E phi(u) phi(v)
  slope_cross,   ///< E phi'(u) phi'(v)
};
std::string to_string(Moment);
const std::vector<Moment>& all_moments();
bool is_pair(Moment);  ///< needs a correlation

struct GaussianInput {
  double mean = 0;
  double variance = 1;                ///< >= 0; 0 is the point mass
  std::optional<double> correlation;  ///< within [-1, 1], of a pair
};

enum class Method { closed_form, quadrature, monte_carlo };
std::string to_string(Method);

/// A number with how it was found and how far it may be off (an absolute bound, or a standard error
/// for Monte Carlo).
struct Estimate {
  double value = 0;
  double error = 0;
  Method method = Method::quadrature;
};

// ---- closed form --------------------------------------------------------------------------------

/// What is assumed of the input when a formula is sought; fewer symbols give shorter formulas.
enum class InputMean { zero, symbol };

/// The formula of a moment in q (variance), mu (mean; InputMean::symbol) and c (correlation), found
/// by integration by parts of Gaussians (docs/theory/expectations.md#closed-form); nothing when
/// there is none, and `why_not` then says what stands in the way ("it needs the joint probability
/// of 4 half-lines"). Slopes are those almost everywhere: at a jump, slope_mean leaves out the jump
/// itself.
struct ClosedForm {
  std::optional<Expr> formula;
  std::string why_not;
};
ClosedForm closed_form(const Activation& activation, Moment moment,
                       InputMean mean = InputMean::zero);
/// The formula at an input, in double; cancellation is found and answered with more digits, so the
/// relative error is below 4 units in the last place. Limits (q = 0, c = 0 and +-1) are included.
/// Infinite past the range of double; nothing without a formula, or where its powers overflow (of
/// exponential families past a variance of 1e18). Throws Error(input) for a variance
/// or correlation out of range, or a pair without one.
std::optional<Estimate> closed_form_value(const Activation& activation, Moment moment,
                                          const GaussianInput& input);
/// The same to any number of digits, from exact inputs; 0 where hundreds of digits cancel (the mean
/// of selu).
std::optional<std::string> closed_form_digits(const Activation& activation, Moment moment,
                                              const Expr& mean, const Expr& variance,
                                              const std::optional<Expr>& correlation, int digits);

/// One moment of one activation for repeated evaluation: the formulas are found at first use and
/// kept; then well under a microsecond where they do not cancel. Cheap to copy, safe to share.
class ClosedFormFunction {
 public:
  ClosedFormFunction(const Activation& activation, Moment moment);
  const ClosedForm& formula(InputMean mean) const;
  /// As closed_form_value.
  std::optional<Estimate> operator()(const GaussianInput& input) const;

  struct Impl;

 private:
  std::shared_ptr<const Impl> impl_;
};

// ---- quadrature ---------------------------------------------------------------------------------

/// Throws Error(input) "this expectation does not exist" where the integral diverges (a pole at a
/// point of positive density, growth faster than the density falls) or the moment is the slope's
/// second at a jump.
Estimate quadrature(const Activation& activation, Moment moment, const GaussianInput& input);
/// All five 1-D moments from one set of nodes; slope_second is empty where phi jumps.
struct Moments1D {
  Estimate mean, second, slope_mean, fourth;
  std::optional<Estimate> slope_second;
};
Moments1D quadrature_1d(const Activation& activation, const GaussianInput& input);
inline constexpr int most_digits_of_quadrature = 100;
/// `digits` correct digits (1 to most_digits_of_quadrature) in positional notation.
std::string quadrature_digits(const Activation& activation, Moment moment, const Expr& mean,
                              const Expr& variance, const std::optional<Expr>& correlation,
                              int digits);

/// Pair expectations at one (mean, variance) as a function of the correlation: the Hermite series
/// sum a_n^2 c^n, built once, microseconds an evaluation; near |c| = 1, where the series is slow,
/// polynomials in acos(c) through values of the quadrature. Safe to share.
class PairFunction {
 public:
  /// Throws Error(input) as quadrature does, also for what exists at every c but 1 (slope_cross
  /// where phi jumps).
  PairFunction(const Activation& activation, Moment pair_moment, double mean, double variance);
  Estimate operator()(double correlation) const;
  /// Largest |c| of the series. The first value beyond it costs some hundred integrals in the
  /// plane.
  double series_limit() const;
  /// d/dc, by Price's theorem.
  double derivative(double correlation) const;
  /// a_n^2, a_n = E[f(u) He_n(z)]/sqrt(n!) with f = phi or phi', as many as the series has.
  const std::vector<double>& coefficients() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

// ---- Monte Carlo --------------------------------------------------------------------------------

struct MonteCarloOptions {
  std::int64_t samples = 1 << 22;  ///< rounded up to whole blocks
  std::uint64_t seed = 0;
  int threads = 1;              ///< the result does not depend on it
  std::vector<Moment> moments;  ///< those wanted; empty: all that apply
};
/// Every moment that applies (pairs when a correlation is given; slope_second not where phi jumps),
/// each with its standard error; those whose samples overflow are left out, and when all do it is
/// an Error(input). Slopes are those of the samples, which never see a jump. Antithetic pairs,
/// Philox counters. Whether the expectation exists is not seen here: of a divergent one, the
/// samples still have a mean.
std::map<Moment, Estimate> monte_carlo(const Activation& activation, const GaussianInput& input,
                                       const MonteCarloOptions& options = {});

}  // namespace scalecalc
