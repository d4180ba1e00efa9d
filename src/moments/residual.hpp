#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "moments/calculus.hpp"
#include "moments/spread.hpp"

/// y = a x + b F(x) (docs/theory/layers.md#residual): m' = a^2 m + b^2 m_F. F ends in weights that
/// know nothing of x, so that E[x F] = E[x] E[F], which is 0 unless F ends in an activation.
namespace scalecalc::moments {

/// s^2 -> (a^2 s + b^2 K s_in)^2 + (b^4 D_F^2 + 2 a^2 b^2 D D_F)/d + b^4 noise
/// (docs/theory/attention.md#overlap).
template <class N>
Overlap<N> overlap_of_sum(const Overlap<N>& stream, const Overlap<N>& branch, const N& a2,
                          const N& b2, const N& apart, const N& branch_apart, const N& width) {
  using std::sqrt;
  const N together = a2 * stream.coherent + b2 * branch.coherent;
  const N noise =
      a2 * a2 * stream.noise + b2 * b2 * branch.noise +
      (b2 * b2 * branch_apart * branch_apart + 2 * a2 * b2 * apart * branch_apart) / width;
  return {sqrt(together * together + noise), N(0)};
}

/// Whether a branch hands on a part of its input that no weights have been drawn for, so that E[x
/// F] is not 0.
inline bool keeps_input(const std::vector<Layer>& layers) {
  return std::none_of(layers.begin(), layers.end(), [](const Layer& layer) {
    return std::holds_alternative<Linear>(layer.op) ||
           std::holds_alternative<Attention>(layer.op) ||
           std::holds_alternative<Conv2d>(layer.op) || std::holds_alternative<Gated>(layer.op) ||
           std::holds_alternative<Embedding>(layer.op);
  });
}

template <class C, class X>
Signal<X> residual_forward(C& calculus, const Residual& layer, const Signal<X>& stream,
                           const Signal<X>& branch, const Counts& counts,
                           MixedSum* kinds = nullptr) {
  using N = typename C::Number;
  using T = Token<N>;
  const N a = calculus.skip(layer), b = calculus.branch(layer), a2 = a * a, b2 = b * b;
  Signal<X> out = stream;
  out.normalised = false;
  out.flat.reset();
  out.same_words = stream.same_words && branch.same_words;
  const N both = 2 * a * b;
  out.x = zip(
      stream.x, branch.x,
      [&](const T& x, const T& f) {
        return T{a * x.mean + b * f.mean, a2 * x.second + b2 * f.second + both * x.mean * f.mean};
      },
      [&](const T&, const T&, const N& x, const N& f) { return N(a2 * x + b2 * f); });
  const auto x = average(stream.x), f = average(branch.x);
  const N shared = both * x.mean * f.mean;
  out.x = each_cross(out.x, [&](const N& cross) { return N(cross + shared); });
  if constexpr (C::next_orders) {
    out.overlap = overlap_of_sum(stream.overlap, branch.overlap, a2, b2, N(x.second - x.cross),
                                 N(f.second - f.cross), N(calculus.size(stream.width, "width")));
    const Alike<double> left = values_of(calculus, scaled(x, a2)),
                        right = values_of(calculus, scaled(f, b2));
    out.spread = through_sum(stream.spread, branch.spread, left, right,
                             static_cast<double>(stream.width), counts);
    const double total = values_of(calculus, out.x).second;
    const double p = total > 0 ? left.second / total : 0, q = total > 0 ? right.second / total : 0;
    const auto mixed = [&](const Doubt& s, const Doubt& t) {
      return Doubt{p * s.second + q * t.second, p * s.cross + q * t.cross};
    };
    const Alike<double> sums = values_of(calculus, out.x);
    MixedSum made =
        mixed_sum(stream.mixture, branch.mixture, p, sums.cross != 0 ? left.cross / sums.cross : 0);
    out.mixture = made.sum;
    if (kinds) *kinds = std::move(made);
    out.kurtosis = 3 + p * p * (stream.kurtosis - 3) + q * q * (branch.kurtosis - 3);
    out.error = mixed(stream.error, branch.error);
    out.truncation = mixed(stream.truncation, branch.truncation);
    if (keeps_input(layer.body) && total > 0) {
      const double both_sizes = 2 * std::sqrt(left.second * right.second) / total;
      out.truncation.second += both_sizes;
      out.truncation.cross += both_sizes;
      calculus.assume("residual", "the branch is independent of its input", "2 |E x F|/E y^2",
                      both_sizes, 0.05);
    }
  }
  return out;
}

}  // namespace scalecalc::moments
