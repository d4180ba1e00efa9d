#include <algorithm>
#include <array>
#include <cmath>

#include "gaussian/softmax/check.hpp"
#include "gaussian/softmax/row_integral.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc {
namespace gaussian::softmax {
namespace {

/// With S_k = sum p^k,
///   tr J^4 = S_4 - 4 S_5 + 4 S_2 S_4 + 2 S_3^2 - 4 S_2^2 S_3 + S_2^4,
/// and of a product of degree m, summed over the ways to put its factors on different keys,
///   E = 1/Gamma(m) sum T (T-1) ... (T-d+1) Int (product of G) F^{T-d} dy, d keys.
/// The parts are those of one sign.
Estimate integrated(double keys, double tau2) {
  // G_8 is narrower than G_4.
  RowIntegral<2> row(keys, tau2, 2.0, 8);
  const auto out = row.integrate([keys](const Averages& at) -> std::array<double, 2> {
    if (at.fall >= 1.0) return {};
    const double log_f = std::log1p(-at.fall);
    std::array<double, 5> on{};  // of d different keys
    double ways = 1;
    for (int d = 1; d <= 4; ++d) {
      ways *= std::max(keys - (d - 1), 0.0);
      on[d] = ways > 0 ? ways * std::exp((keys - d) * log_f) : 0;
    }
    const auto& g = at.g;
    const double s4 = on[1] * g[4] / 6, s5 = on[1] * g[5] / 24;
    const double s2s4 = (on[1] * g[6] + on[2] * g[2] * g[4]) / 120;
    const double s3s3 = (on[1] * g[6] + on[2] * g[3] * g[3]) / 120;
    const double s2s2s3 =
        (on[1] * g[7] + on[2] * (g[4] * g[3] + 2 * g[5] * g[2]) + on[3] * g[2] * g[2] * g[3]) / 720;
    const double s2_fourth = (on[1] * g[8] + on[2] * (4 * g[6] * g[2] + 3 * g[4] * g[4]) +
                              on[3] * 6 * g[4] * g[2] * g[2] + on[4] * g[2] * g[2] * g[2] * g[2]) /
                             5040;
    return {s4 + 4 * s2s4 + 2 * s3s3 + s2_fourth, 4 * s5 + 4 * s2s2s3};
  });
  // What the inner averages of G_8 leave, found beside the integral over two keys.
  constexpr double inner = 1e-9;
  return {out[0].value - out[1].value,
          out[0].error + out[1].error + inner * (out[0].value + out[1].value), Method::quadrature};
}

}  // namespace
}  // namespace gaussian::softmax

Estimate softmax_slope_fourth(std::int64_t keys, double tau2) {
  gaussian::softmax::check_keys(keys);
  gaussian::softmax::check_variance(tau2);
  const double count = static_cast<double>(keys), p = 1 / count;
  // Of equal weights J^2 is J/T, with T - 1 eigenvalues 1/T.
  if (tau2 == 0 || keys == 1) return {(count - 1) * p * p * p * p, 0.0, Method::closed_form};
  return gaussian::softmax::integrated(count, tau2);
}

}  // namespace scalecalc
