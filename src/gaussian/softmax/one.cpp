#include "gaussian/softmax/one.hpp"

#include <array>
#include <cmath>

#include "gaussian/softmax/check.hpp"
#include "gaussian/softmax/row_integral.hpp"

namespace scalecalc {
namespace gaussian::softmax {
namespace {

/// In y = ln t, with G_k and F as RowIntegral has them:
///   E sum p^k = T/Gamma(k) Int G_k F^{T-1} dy,
///   E (sum p^2)^2 = E sum p^4 + T(T-1)/Gamma(4) Int G_2^2 F^{T-2} dy.
SoftmaxOne integrated(double keys, double tau2, double finer) {
  RowIntegral<4> row(keys, tau2, finer, 4);
  const auto out = row.integrate([keys](const Averages& at) -> std::array<double, 4> {
    if (at.fall >= 1.0) return {};
    const double log_f = std::log1p(-at.fall);
    const double others = keys * std::exp((keys - 1.0) * log_f);
    const double pairs = keys * (keys - 1.0) * std::exp((keys - 2.0) * log_f);
    const double p4 = at.g[4] * others / 6.0;
    return {at.g[2] * others, at.g[3] * others / 2.0, p4, p4 + at.g[2] * at.g[2] * pairs / 6.0};
  });
  SoftmaxOne result{out[0], out[1], out[2], out[3], {}};
  result.a.value = out[0].value - 2.0 * out[1].value + out[3].value;
  result.a.error = out[0].error + 2.0 * out[1].error + out[3].error;
  return result;
}

/// Equal weights 1/T.
SoftmaxOne uniform_row(double keys) {
  const auto exact = [](double value) { return Estimate{value, 0.0, Method::closed_form}; };
  const double p = 1.0 / keys;
  return {exact(p), exact(p * p), exact(p * p * p), exact(p * p), exact(p * (1.0 - p))};
}

}  // namespace

SoftmaxOne integrate_one(double keys, double tau2, double finer) {
  if (tau2 == 0.0 || keys == 1.0) return uniform_row(keys);
  return integrated(keys, tau2, finer);
}

}  // namespace gaussian::softmax

SoftmaxOne softmax_one(std::int64_t keys, double tau2) {
  gaussian::softmax::check_keys(keys);
  gaussian::softmax::check_variance(tau2);
  return gaussian::softmax::integrate_one(static_cast<double>(keys), tau2);
}

}  // namespace scalecalc
