#pragma once

#include "scalecalc/softmax.hpp"

/// What multiplies the moments of v, k and q in attention: softmax averages, with the orders 1/d,
/// 1/d_h and T/d (docs/theory/attention.md#next). One row of scores at a time, and one pair of
/// rows: the same for tokens that are alike and for rows of a causal mask.
namespace scalecalc::moments {

/// Of one row. At leading order P2 in the first two and A in the others.
template <class N>
struct RowFactors {
  N mix{};           ///< of Dv in m_o
  N value{};         ///< of g_o in g_v
  N query{};         ///< of Dv Dk g_o in g_q
  N key{};           ///< of Dv m_q g_o in g_k
  N key_weight{};    ///< of Dv m_q g_o in the gradient of Wk
  N value_weight{};  ///< of D g_o in the gradient of Wv, beside m g_v
  N score{};         ///< of Dv g_o in that of the scores
  /// Relative size of what is left out: of `mix` and `value`, and of the three that hold A.
  double omitted_value = 0, omitted_score = 0;
};

/// Of two different rows. At leading order O in the first two, A' or c A' in the others.
template <class N>
struct PairFactors {
  N mix{}, value{}, query{}, key{}, key_weight{}, value_weight{};
  N query_weight{};  ///< of m Dv Dk k_o in the gradient of Wq, beside r k_q
  N score{};
  double omitted_value = 0, omitted_score = 0;  ///< as of a row
};

/// What is small. With scores of other layers or biases added, whose heads fluctuate on their own,
/// `head_width` is as many times larger as these make their sum steadier. `overlap` is V/D^2 of the
/// keys' tokens, 1/d at first and more in deep stacks.
struct Smallness {
  double width = 1, head_width = 1;  ///< d, d_h
  double added = 1;                  ///< share of tau2 that knows of tokens: all but biases
  double along = 1;  ///< of a row's scores along one feature of its query, times head_width
  double overlap = 0, query_overlap = 0;
  /// Of `overlap`, what values have in common with the keys: less where they are of other tokens
  /// too (docs/theory/attention.md#value-residual).
  double values = 1;
  double length = 0;      ///< relative variance of a token's |x|^2, 2/d at least
  double normalised = 0;  ///< share of the 2 V/D^2 of Gaussian tokens that these do not have
  bool qk_norm = false;   ///< nor do those of q and k in each head
  /// Behind any norm of keys what tokens differ in by size is in values alone, not in scores.
  bool normed_keys = false;
  bool averaged = false;  ///< over lengths of queries, or unit vectors (head_lengths.hpp)
  /// What tokens of one word add to `overlap` in the gradients of scores, as their scores and so
  /// their weights vary together (docs/theory/attention.md#words-apart).
  double repeats = 0;
  /// Of tokens and keys that are not alike (KeyStructure): past independent ones, over pairs and
  /// over keys; and of keys with themselves, over pairs.
  double structure = 0, uneven = 0, key_structure = 0;
  /// Of unit vectors: of V/D^2, what scores' cumulant has, and what tau2 varies by between heads.
  double ellipsoid = 1, between_heads = 1;
  double own = 1;    ///< with rotation, `own` of it, of one row or of two
  double heads = 0;  ///< and what it adds to the relative variance of tau2 between heads
};

/// Half of what the relative variance of |x_s|^2, as far as scores know of it, lacks of Gaussian
/// tokens' 2 V/D^2 (docs/theory/attention.md#normalised), at a `cosine` of the tokens.
double missing_sizes(const Smallness& small, double cosine);

/// Relative variance of a row's tau2 over draws of queries and keys. Of normed ones
/// (docs/theory/attention.md#qk-norm) that of |W_k^T q|^2 where tokens fill 1/overlap directions,
/// and, of keys of a `cosine`, of what their lengths have in common.
double variance_of_heads(const Smallness& small, double cosine);

/// n + 2 of the sphere whose unit vectors have scores of the fourth cumulant of normed keys' at a
/// `cosine`, given W_k: -6 (1 - c)^2 (1/(d_h + 2) + overlap).
double unit_vector_dimensions(const Smallness& small, double cosine);

/// h(f) = f + (rel/2) tau2^2 f'' averages over the variance of tau2 between heads; f_n takes out
/// what the lengths of normalised tokens do not do. `cosine` of the tokens that the keys come from;
/// `plain` is Dv over what attention dropout makes of it: overlaps of different keys are not
/// dropped.
RowFactors<double> row_factors(const SoftmaxOrders& row, double tau2, double cosine, double plain,
                               const Smallness& small);

/// Two rows of variances tau2 and tau2' (here their geometric mean) and correlation c, which is
/// `cosine`, that of their queries, unless scores of other layers are added: `m2` and `rest` are M2
/// and (1 - P2)^2, geometric means too where the rows differ.
/// `along` is along_queries().
PairFactors<double> pair_factors(const SoftmaxOverlaps& rows, double tau2, double c, double cosine,
                                 double m2, double rest, double along, const Smallness& small);

/// (B/A - 1)/d_h: relative to A', what two gradients have along both queries. It is that of one row
/// at c = 1, and to tau2 as much at c = 0, half of it along each; between, two thirds of it are
/// stated, which simulations of one to four features stay within.
double along_queries(const SoftmaxOrders& row, const Smallness& small);

/// Relative size of each next order beside the one before, 2/d_h + 2/d at first
/// (docs/theory/attention.md#omitted).
double next_order(const Smallness& small);
/// Of the part of order T/d of g_q and of the gradients of Wq and Wk, x = (1 - P2)^2 V/(A D^2): it
/// is exact in T/d, since the scores' gradient is quadratic in the tokens' overlaps; it lacks
/// factors 1 + O(1/d_h), and the 6% that V itself may be off by where it has grown in deep stacks.
/// With it normalised tokens are within 8% at T/d = .5, d = 48
/// (docs/theory/attention.md#normalised). Where the lengths of queries are averaged over, it lacks
/// what overlaps make of the one feature along the query, past small tau2.
double omitted_overlaps(const SoftmaxOrders& row, double tau2, const Smallness& small);
/// Of what value_weight adds, E x.x' p p' of two keys of overlap V/D^2: the next term of its series
/// in tau2 V/D.
double omitted_values(double tau2, const Smallness& small);

}  // namespace scalecalc::moments
