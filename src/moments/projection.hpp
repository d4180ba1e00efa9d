#pragma once

#include <cmath>

#include "moments/calculus.hpp"
#include "moments/gradient.hpp"

/// What of a gradient lies along its signal (docs/theory/finite-width.md#along). Shares of 1/n, a
/// random direction has 1 of each.
namespace scalecalc::moments {

/// What the projection takes of g and of k at a cosine c: LN 2/d and (3 - c^2)/d, RMS 1/d and (2 -
/// c^2)/d of a gradient whose levels are 1.
struct Projection {
  double d = 1, w = 1;
  bool layernorm = false;
  double second(const NormDirections& directions) const {
    return 1 - w * (directions.radial + (layernorm ? directions.mean : 0)) / d;
  }
  double cross(const NormDirections& directions, double c) const {
    return 1 - w * (directions.radial * (2 - c * c) + (layernorm ? directions.mean : 0)) / d;
  }
};

/// Of a gradient g with `directions` along the signal x.
template <class C, class X>
X projected(const C& calculus, const Projection& take, const X& x, const NormDirections& directions,
            const X& g) {
  using N = typename C::Number;
  using T = Token<N>;
  if constexpr (!C::next_orders) return g;
  return zip(
      x, g,
      [&](const T&, const T& u) {
        return T{N(0), u.second * calculus.real(take.second(directions))};
      },
      [&](const T& t, const T& u, const N& r, const N& k) {
        const double m = std::sqrt(calculus.value(t.second) * calculus.value(u.second));
        const double c = m > 0 ? calculus.value(r) / m : 0;
        return N(k * calculus.real(take.cross(directions, c)));
      });
}

/// dk/dr below: as much is taken of it as of k. Left out: what is taken of k changes with r by
/// 2c/d of it.
inline OverlapSlopes projected(const Projection& take, const Alike<double>& x,
                               const NormDirections& directions, const OverlapSlopes& slopes) {
  if (!(x.second > 0)) return slopes;
  const auto pair = [&](const OverlapSlope& s, double cross) {
    const double left = take.cross(directions, cross / x.second);
    return OverlapSlope{s.own * left, s.stream * left};
  };
  return {pair(slopes.within, x.cross), pair(slopes.between, x.between)};
}

/// The part along x of a gradient with `level` along a sum whose share x is.
inline double across(double level, double share) {
  return share * level + 1 - share;
}

}  // namespace scalecalc::moments
