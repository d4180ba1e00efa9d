#pragma once

#include <algorithm>

#include "moments/norm_tokens.hpp"
#include "scalecalc/network.hpp"

/// The norms of queries and keys inside attention.
namespace scalecalc::moments {

/// The RMS norm of q or k in each head: its rules over d_h features.
template <class C, class X>
X normalised(const X& x, const NormOrders& orders) {
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
          const N c = cross / sqrt(t.second * u.second);
          return N(c * orders.forward(c));
        } else {
          return N(cross / sqrt(t.second * u.second));
        }
      });
}
template <class C, class X>
X norm_factors(const X& x, const NormOrders& orders) {
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
/// as much as |x|^2 makes up for it; at k the values' lengths do. Below 4 features the expansion is
/// of no use.
struct HeadNorms {
  NormOrders query, key, weights;
  HeadNorms(const Attention& layer, double width, bool tokens_normalised) {
    const double d_h = std::max(static_cast<double>(layer.head_width), 4.0), own = 2 / d_h;
    const double of_token = tokens_normalised ? 0 : 2 / width;
    query = {d_h, own + of_token, 1, false};
    key = {d_h, own, 1, false};
    weights = {d_h, own - of_token, 1, false};
  }
};

}  // namespace scalecalc::moments
