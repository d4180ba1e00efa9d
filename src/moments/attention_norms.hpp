#pragma once

#include <algorithm>
#include <cmath>

#include "moments/projection.hpp"
#include "moments/state.hpp"
#include "scalecalc/network.hpp"

/// The norms of queries and keys inside attention.
namespace scalecalc::moments {

/// Both for Gaussian features whose gradient knows nothing of them: the heads of q and k. The
/// square of a length, of relative variance v, is a Gamma variable s of shape 1/v, so that E 1/s =
/// 1/(1 - v) and (E s^(-1/2))^2 = (Gamma(1/v - 1/2)/Gamma(1/v))^2/v, of two lengths of which one
/// knows nothing of the other; those at a cosine c are between by c^2. `more` multiplies both. See
/// docs/theory/attention.md#qk-norm.
struct HeadNorm {
  double d = 1, v = 0, more = 1;
  double second() const { return of_one() * Projection{d, 1, false}.second({}); }
  template <class N>
  N cross(const N& c) const {
    return (1 - 2 / d + c * c / d) * (of_two() + (of_one() - of_two()) * c * c);
  }
  /// E of the cosine of two normed vectors of d Gaussian features whose cosine is c.
  double cosine(double c) const;

 private:
  /// E 1/s of two features or fewer is infinite; those of three stand for them.
  static constexpr double most = 2.0 / 3;
  double of_one() const { return more / (1 - std::min(v, most)); }
  double of_two() const {
    const double shape = 1 / std::min(v, most);
    const double ratio = std::exp(std::lgamma(shape - 0.5) - std::lgamma(shape));
    return more * shape * ratio * ratio;
  }
};

/// The RMS norm of q or k in each head: its rules over d_h features.
template <class C, class X>
X normalised(const X& x, const HeadNorm& orders) {
  using N = typename C::Number;
  using T = Token<N>;
  using std::sqrt;
  return map(
      x,
      [](const T&) {
        return T{N(0), N(1)};
      },
      [&](const T& t, const T& u, const N& cross) {
        if constexpr (C::next_orders) {
          if (t.second * u.second <= 0) return N(1);
          return N(orders.cosine(cross / sqrt(t.second * u.second)));
        } else {
          return N(cross / sqrt(t.second * u.second));
        }
      });
}
template <class C, class X>
X norm_factors(const X& x, const HeadNorm& orders) {
  using N = typename C::Number;
  using T = Token<N>;
  using std::sqrt;
  return map(
      x,
      [&](const T& u) {
        if constexpr (C::next_orders)
          return T{N(0), u.second > 0 ? orders.second() / u.second : 0};
        else
          return T{N(0), 1 / u.second};
      },
      [&](const T& t, const T& u, const N& cross) {
        if constexpr (C::next_orders) {
          if (t.second * u.second <= 0) return N(0);
          const N scale = 1 / sqrt(t.second * u.second);
          return N(scale * orders.cross(N(cross * scale)));
        } else {
          return N(1 / sqrt(t.second * u.second));
        }
      });
}

/// Lengths of q and k fluctuate by 2/d_h, and by 2/d where the tokens' do. These are shared: a
/// gradient at q is larger where the token is short, but x g, the weights' gradient, is smaller by
/// as much as |x|^2 makes up for it; at k the values' lengths do.
struct HeadNorms {
  HeadNorm query, key, weights;
  HeadNorms(const Attention& layer, double width, bool tokens_normalised) {
    const double d_h = std::max(static_cast<double>(layer.head_width), 2.0), own = 2 / d_h;
    const double of_token = tokens_normalised ? 0 : 2 / width;
    query = {d_h, own, 1 + of_token};
    key = {d_h, own, 1};
    weights = {d_h, own, 1 - of_token};
  }
};

}  // namespace scalecalc::moments
