#pragma once

#include <algorithm>

#include "moments/attention_mix.hpp"
#include "moments/equal_keys.hpp"
#include "moments/words.hpp"

/// What queries of one word add to the gradients of scores
/// (docs/theory/attention.md#word-gradients, docs/theory/attention.md#words-along).
namespace scalecalc::moments {

/// What queries of one word add to gradients: sums over pairs of queries are of the product of what
/// inputs, rows of weights and gradients have in common, which words have all three of.
template <class X>
struct WordScores {
  X query, key, key_weight;  ///< to the scores' gradients
  X own;                     ///< to that of Wq, over E x^2
};
/// `linear` of the covariance of gradients and queries is in the scores at keys already, by the
/// first order in the queries' overlap. `along` E (J p).(J' p') times D_v^2 is what a gradient
/// along the mix brings, which is a row's own: two queries of one word have all of it in common,
/// and beside the inputs it has no third factor.
template <class C, class X>
WordScores<X> word_scores(const AttentionRecord<C, X>& record, const X& gradient,
                          const WordPairs& words, double linear, double along = 0) {
  const Factors<X>& factors = record.factors;
  const double share = words.same * (1 - words.same);
  const auto apart = [&](const X& one, const X& x) { return word_difference(one, x, words.same); };
  // Under a mask a word's gradients have in common what the later of both has.
  const double later = later_share(gradient);
  const X g = apart(scaled(as_later(gradient), later > 0 ? words.equal / later : 0), gradient);
  const X cosine = cosines<C>(record.input), x = apart(as_one(cosine), cosine);
  const auto rows = [&](const X& factor) {
    return apart(slopes_as_later(factor, factors.mix), factor);
  };
  const X base = scaled(record.apart_v, record.score_scale * share);
  const auto of_scores = [&](const X& factor) { return product(base, factor); };
  const double counted = average(product(g, x)).cross * share;
  const double before = counted > 0 ? std::clamp(linear / counted, 0.0, 1.0) : 0;
  const auto beyond = [&](const X& factor, const X& slope) {
    return of_scores(product(g, sum(rows(factor), scaled(product(slope, x), -before))));
  };
  WordScores<X> made;
  made.query = of_scores(product(g, rows(factors.query)));
  made.key = beyond(factors.key, factors.slope);
  made.key_weight = beyond(factors.key_weight, factors.query);
  const X all = sum(gradient, scaled(g, 1 - 2 * words.same));
  made.own = of_scores(product(product(x, rows(factors.query)), all));
  if (along > 0) {
    const X of_mix = product(product(record.apart_v, record.apart_v), rows(factors.feedback.query));
    made.own = sum(made.own, scaled(product(x, of_mix), along * share));
  }
  made.own = product(made.own, record.gradient_k);
  return made;
}

}  // namespace scalecalc::moments
