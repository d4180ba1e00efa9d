#pragma once

#include <algorithm>
#include <cmath>

#include "moments/calculus.hpp"
#include "moments/norm_tokens.hpp"
#include "moments/signal.hpp"

namespace scalecalc::moments {

/// E y_t^2 y_u^2 of one feature of an output y beyond (E y^2)^2 + 2 (E y_t y_u)^2, which Gaussian
/// features have (docs/theory/layers.md#norm-gain): of one token, and of pairs. Right behind an
/// activation phi it is known, less what a mean that is taken out changes in pairs; of a sum the
/// fourth cumulant is, and that of pairs goes as c^2.
template <class C, class X>
Alike<double> heavy_pairs(C& calculus, const Norm& layer, const Signal<X>& in, const X& output) {
  const Alike<double> y = values_of(calculus, output);
  if (!is_token_norm(layer.kind) || !(y.second > 0)) return {};
  const double square = y.second * y.second;
  const bool centre = layer.kind == NormKind::layernorm;
  double own = in.kurtosis - 3;
  if (in.flat && !in.flat->gate && in.mixture.plain()) {
    const Alike<double>& u = in.flat->input;
    const double q = u.second - u.mean * u.mean;
    if (!(q > 0)) return {};
    const WidthMoments& phi = calculus.width(calculus.function(in.flat->function), u.mean, q);
    if (!centre) {
      const auto pair = [&](double r, double cross) {
        const double c = std::clamp((r - u.mean * u.mean) / q, -1.0, 1.0);
        return square * phi.covariance(c) - 2 * cross * cross;
      };
      return {0, square * (phi.kurtosis - 3), pair(u.cross, y.cross), pair(u.between, y.between)};
    }
    own = phi.centred_kurtosis - 3;
  }
  if (in.populations) {
    // Of features of two kinds the products of pairs are those of each, about as large as `output`
    // has them.
    const Populations& two = *in.populations;
    const Alike<double> x = values_of(calculus, in.x);
    const double scale = x.second > 0 ? square / (x.second * x.second) : 0, p = two.share;
    const auto excess = [&](double l, double r, double both) {
      return scale * (p * (two.left.second * two.left.second + 2 * l * l) +
                      (1 - p) * (two.right.second * two.right.second + 2 * r * r) -
                      x.second * x.second - 2 * both * both);
    };
    return {0, excess(two.left.second, two.right.second, x.second),
            excess(two.left.cross, two.right.cross, x.cross),
            excess(two.left.between, two.right.between, x.between)};
  }
  // Of a mean all pairs have the -2 mu^4 that one token has.
  const double of_mean = -2 * std::pow(y.mean * y.mean / y.second, 2);
  const double independent = (own - of_mean) / in.mixture.square();
  const auto pair = [&](double cross) { return of_mean * square + independent * cross * cross; };
  return {0, own * square, pair(y.cross), pair(y.between)};
}

}  // namespace scalecalc::moments
