#pragma once

#include "moments/calculus.hpp"
#include "moments/mixture.hpp"

namespace scalecalc::moments {

/// What the kinds of features of dropout make of a gradient that knows them.
template <class C, class X>
void scale_kinds(const C& calculus, Gradient<X>& g, const KindFactors& factors) {
  using N = typename C::Number;
  if (factors.second == 1 && factors.cross == 1) return;
  const N second = calculus.real(factors.second), cross = calculus.real(factors.cross);
  g.x = each_cross(scaled(g.x, second), [&](const N& k) { return N(k * cross / second); });
}

}  // namespace scalecalc::moments
