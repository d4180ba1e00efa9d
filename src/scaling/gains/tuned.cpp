#include <cmath>

#include "scalecalc/gains.hpp"
#include "scaling/gains/expectation.hpp"

namespace scalecalc {

using namespace gains_room;

namespace {

Estimate ratio(const Estimate& a, const Estimate& b) {
  const double value = a.value / b.value;
  const Estimate by_a = mapped(a, value, 1 / b.value);
  return {value, by_a.error + std::fabs(value / b.value) * b.error, a.method};
}

}  // namespace

Tuned tuned(const Activation& activation, double variance) {
  const GaussianInput input{0, variance, {}};
  const Estimate second = expectation(activation, Moment::second, input);
  const Estimate centred = variance_of(activation, input);
  if (!(centred.value > 0) || std::isinf(second.value)) {
    throw Error(ErrorKind::unsolvable, "no scale gives E phi^2 = 1 and variance 1",
                activation.name(),
                std::isinf(second.value) ? "E phi^2 is beyond the range of double"
                                         : "phi(u) has no variance");
  }
  Tuned result;
  result.scale = inverse_root(second);
  result.shift = expectation(activation, Moment::mean, input);
  // The mean of an odd function is rounding.
  if (std::fabs(result.shift.value) <= result.shift.error) result.shift.value = 0;
  result.centred_scale = inverse_root(centred);
  if (!activation.has_jump()) {
    const Estimate slope = expectation(activation, Moment::slope_second, input);
    result.slope_before = slope;
    result.slope_after = ratio(slope, second);
    result.centred_slope_after = ratio(slope, centred);
  }
  const ClosedForm square = closed_form(activation, Moment::second);
  const ClosedForm mean = closed_form(activation, Moment::mean);
  if (square.formula) {
    result.scale_formula = pow(*square.formula, Rational(-1, 2));
    if (mean.formula) {
      result.centred_formula = pow(*square.formula - pow(*mean.formula, 2), Rational(-1, 2));
    }
  }
  return result;
}

}  // namespace scalecalc
