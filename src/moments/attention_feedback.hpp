#pragma once

#include "moments/attention_factors.hpp"
#include "moments/attention_keys.hpp"
#include "scalecalc/softmax.hpp"

/// What a gradient brings back that points along the mix itself, a z_t with z = P v
/// (Gradient::aligned: the loss sees the mix through the weights that its gradient comes back by).
/// The values get a P^T P v. The scores get a J (z_t.v_s) = a d_h Dv J p, the same sign in every
/// feature, where a random gradient adds up as d_h^(1/2).
namespace scalecalc::moments {

template <class X>
struct AlignedFeedback {
  X mix;           ///< of D in z.z' averaged over heads; the tokens' shared part goes with 1
  X values;        ///< of D in sum_s p_s p'_s z.z'; the shared part goes with `mix`
  X query, key;    ///< E (J p).(J' p'), with what tokens have along the query; c times it for pairs
  X key_weight{};  ///< `key` for the gradient of Wk: of keys of one word together
  X score{};       ///< that without either
};

/// `second` and `cross` of the above, of one row and of two.
struct FeedbackFactors {
  double mix = 0, values = 0, query = 0, key = 0, score = 0;
};
FeedbackFactors row_feedback(const SoftmaxOrders& row, double tau2, double keys, double heads,
                             const Smallness& small);
/// What row_feedback leaves out of `query` and `key`, relative to them: 2 p J J z (p.z)/d, of
/// tokens that have a part z along the query.
double omitted_feedback(const SoftmaxOrders& row, const Smallness& small);
/// Rows of `fewer` and `more` keys, whose queries have cosine c.
FeedbackFactors pair_feedback(const SoftmaxOverlaps& rows, const SoftmaxOrders& one,
                              const SoftmaxOrders& other, const FeedbackFactors& of_one,
                              const FeedbackFactors& of_other, double tau2, double c, double more,
                              double heads, const Smallness& small);

/// P^T P x of tokens with D = `apart` and x_s.x_s' = `shared`, heads averaged.
template <class X>
X fed_back(const AlignedFeedback<X>& feedback, const X& shared, const X& apart, const X& queries,
           const X& keys, const KeyCounts<typename X::Number>& counts) {
  using N = typename X::Number;
  X mixed = sum(shared, product(apart, feedback.mix));
  mixed.between = between_means(queries, keys, counts);
  const X same = sum(product(shared, feedback.mix), product(apart, feedback.values));
  const X other = combine(mixed, same, [](const N& all, const N& own) { return N(all - own); });
  X out = to_keys(same, other, keys, counts);
  out.between = between_to_keys(mixed, keys, counts);
  return out;
}

}  // namespace scalecalc::moments
