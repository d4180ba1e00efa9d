#pragma once

#include <algorithm>
#include <cmath>

#include "moments/gradient.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/words.hpp"

/// Equal words at a gated unit (docs/theory/layers.md#gated).
namespace scalecalc::moments {

/// Of equal words the factor and the gradient are those of one token, which a slope at what two
/// words share does not say: the covariance of both is kappa (1 - kappa) times both differences, in
/// the place of `rise` times that of the gradient with the overlap, and so is what weights below
/// sum.
template <class X>
void gated_words(const WordPairs& words, const X& factor, const X& gradient, const X& x,
                 const OverlapDeviation& overlap, double rise, double stream, Gradient<X>& part) {
  const double share = words.same * (1 - words.same);
  const X g = word_difference(scaled(as_one(gradient), words.equal), gradient, words.same),
          f = word_difference(as_one(factor), factor, words.same),
          r = word_difference(as_one(x), x, words.same);
  const double apart = average(r).cross, of_words = share * apart * average(g).cross;
  const double deviation = std::min(std::sqrt(share) * apart, overlap.coherent);
  if (!(deviation > 0) || !(of_words > 0)) return;
  const double counted = std::min(std::max(stream * overlap.coherent, 0.0), of_words);
  const double before =
      average(factor).cross * counted + average(gradient).cross * rise * deviation * deviation;
  part.x = with_bounded_cross(
      sum_cross(part.x, sum_cross(scaled(product(f, g), share),
                                  uniform(part.x, Alike<double>{0, 0, -rise * counted, 0}))));
  const double after =
      share * apart *
      average(word_difference(scaled(as_one(part.x), words.equal), part.x, words.same)).cross;
  part.slopes.within.stream += (after - before) / overlap.coherent;
}

}  // namespace scalecalc::moments
