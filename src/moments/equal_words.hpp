#pragma once

#include "moments/gradient.hpp"
#include "moments/pointwise.hpp"

/// What gradients of two equal tokens have in common, Gradient::equal_words, where they are along
/// what the tokens are (docs/theory/layers.md#equal-gradients).
namespace scalecalc::moments {

/// Of E g^2 = `second` that gains `more`, or loses -`more`, along the token itself: equal tokens
/// have all of that in common.
inline double equal_with(double equal, double second, double more) {
  const double all = second + more;
  return equal != 0 && all > 0 ? (equal * second + more) / all : equal;
}

/// To a gradient what comes back along the token itself, or along a mean of tokens.
template <class X>
void add_along_token(const X& known, Gradient<X>& g) {
  if (!g.along_mean)
    g.equal_words = equal_with(g.equal_words, average(g.x).second, average(known).second);
  g.x = sum(g.x, known);
}

/// Of two parts that know nothing of each other, of E g^2 = `left` and `right`.
inline double equal_of_both(double equal, double left, double other, double right) {
  const double all = left + right;
  return all > 0 ? (equal * left + other * right) / all : equal;
}

/// E x_t.x_u of two tokens of one word, where all pairs have E x_t.x_u = `x.cross`.
inline double overlap_of_word(const Alike<double>& x, const OwnWord& own) {
  return x.cross + (1 - own.same) * own.overlap * x.second;
}

/// Below a tied head of input x, `all` = a_o + a_w along it: weights alone have given one token
/// a^2 m, of which a_o^2 m + 2 a_o a_w m is left, and two of one word have a_o^2 r + 2 a_o a_w m.
inline double equal_below_head(double equal, double second, const Alike<double>& x, double all,
                               const OwnWord& own) {
  const double others = all - own.along, square = own.along * own.along;
  const double one = second - square * x.second;
  const double two =
      equal * second - square * x.second - others * others * (x.second - overlap_of_word(x, own));
  return one > 0 ? two / one : equal;
}

/// Below a norm of output y, which takes what is along y_t, `all`.
inline double equal_below_norm(double equal, double second, const Alike<double>& y, double all,
                               const OwnWord& own) {
  const double m = y.second;
  if (own.along == 0) return equal_with(equal, second, -all * all * m);
  const double square = own.along * own.along, r = overlap_of_word(y, own);
  const double one = second - (all * all + (own.scatter + own.targets) * square) * m;
  const double two =
      equal * second - all * all * r + 2 * all * own.along * (r - m) - own.scatter * square * m;
  return equal != 0 && one > 0 ? two / one : equal;
}

}  // namespace scalecalc::moments
