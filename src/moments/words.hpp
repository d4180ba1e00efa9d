#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "moments/pointwise.hpp"
#include "moments/signal.hpp"

/// Sequences in which tokens of the same word are equal (Signal::same_words): of two tokens, with
/// the chance kappa they are one, r = kappa m + (1 - kappa) r_0.
namespace scalecalc::moments {

template <class X>
bool has_words(const Signal<X>& x) {
  if constexpr (std::is_same_v<X, PerPosition>) {
    if (x.x.positions->kinds) return false;
  }
  if constexpr (std::is_same_v<typename X::Number, double>)
    return x.same_words && x.repeats > 0 && x.repeats < 1;
  else
    return false;
}

/// Of tokens of the same word, how many are equal; of the others, which share as much on average,
/// no more is known.
template <class X>
double equal_share(const Signal<X>& x) {
  return x.collision > 0 ? std::min(1.0, x.repeats / x.collision) : 1;
}
/// y of the words of x, of which this share stay equal.
template <class X>
void set_words(const Signal<X>& x, double share, Signal<X>& y) {
  y.collision = x.collision;
  y.repeats = share * x.repeats;
  y.triples = share * share * x.triples;
  y.different = x.different + (1 - share) * (static_cast<double>(x.tokens) - x.different);
}
/// The words of a sum: r is that of both, kappa m + (1 - kappa) r_0 of each. `left`, `right`: of
/// its parts, whose words are those of x and f.
template <class X>
void sum_words(const Signal<X>& x, const Alike<double>& left, const Signal<X>& f,
               const Alike<double>& right, Signal<X>& sum) {
  if (x.repeats == f.repeats || !(x.repeats < 1 && f.repeats < 1)) return;
  const double of_x = (left.second - left.cross) / (1 - x.repeats),
               of_f = (right.second - right.cross) / (1 - f.repeats);
  if (!(of_x + of_f > 0)) return;
  const double p = of_x / (of_x + of_f);
  sum.repeats = p * x.repeats + (1 - p) * f.repeats;
  sum.triples = p * x.triples + (1 - p) * f.triples;
  sum.different = p * x.different + (1 - p) * f.different;
}

/// Pairs of different words in the place of all.
inline Alike<double> of_words(Alike<double> x, double same) {
  x.cross = (x.cross - same * x.second) / (1 - same);
  x.between = (x.between - same * x.second) / (1 - same);
  return x;
}
/// And back.
inline Alike<double> with_words(Alike<double> x, double same) {
  x.cross = same * x.second + (1 - same) * x.cross;
  x.between = same * x.second + (1 - same) * x.between;
  return x;
}
/// Seconds in the place of crosses: of two tokens that are one word.
inline PerPosition as_one(const PerPosition& x) {
  return map(
      x, [](const Token<double>& t) { return t; },
      [](const Token<double>& t, const Token<double>& u, double) {
        return (t.second + u.second) / 2;
      });
}
inline Alike<double> as_one(Alike<double> x) {
  x.cross = x.between = x.second;
  return x;
}
/// Likewise what the later of both has, which sees more keys.
inline Alike<double> as_later(const Alike<double>& x) {
  return as_one(x);
}
inline PerPosition as_later(PerPosition x) {
  for (Eigen::Index t = 0; t < x.cross.rows(); ++t)
    for (Eigen::Index u = 0; u <= t; ++u) x.cross(t, u) = x.cross(u, t) = x.second[t];
  return x;
}
/// Likewise of slopes of softmax, E tr J J' and E (J p).(J' p') of rows of one query: what the
/// later has, as far as the keys of the earlier leave a slope, which has 1 - P2 of its own. `mix`
/// has P2.
inline Alike<double> slopes_as_later(const Alike<double>& x, const Alike<double>& /*mix*/) {
  return as_one(x);
}
inline PerPosition slopes_as_later(const PerPosition& x, const PerPosition& mix) {
  PerPosition made = as_later(x);
  const Eigen::ArrayXd rest = 1 - mix.second;
  for (Eigen::Index t = 0; t < rest.size(); ++t) {
    for (Eigen::Index u = 0; u < t; ++u) {
      if (rest[t] > 0) made.cross(t, u) *= rest[u] / rest[t];
      made.cross(u, t) = made.cross(t, u);
    }
  }
  return made;
}
/// Pairs within a sequence alone: what one word has, `one`, less what two have, where pairs are one
/// with the chance `same` and have x on average.
template <class X>
X word_difference(const X& one, const X& x, double same) {
  return scaled_pairs(sum(one, scaled(x, -1.0)), 1 / (1 - same), 0.0);
}
inline PerPosition of_words(const PerPosition& x, double same) {
  const PerPosition one = as_one(x);
  PerPosition out = x;
  out.cross = (x.cross - same * one.cross) / (1 - same);
  out.between = (x.between - same * one.between) / (1 - same);
  return out;
}
inline PerPosition with_words(const PerPosition& x, double same) {
  const PerPosition one = as_one(x);
  PerPosition out = x;
  out.cross = same * one.cross + (1 - same) * x.cross;
  out.between = same * one.between + (1 - same) * x.between;
  return out;
}
template <class X>
X of_words(const X& x, double /*same*/) {
  return x;
}
template <class X>
X with_words(const X& x, double /*same*/) {
  return x;
}

/// Of the variance V of overlaps, what words make: of the share kappa of pairs, which are one word,
/// x_t.x_u is s (m - r_0) larger where they are equal by s, repeats = s kappa
/// (docs/theory/attention.md#words): kappa (1 - kappa) of its square.
inline double word_overlap(const Alike<double>& x, double repeats, double share) {
  const double apart = (x.second - x.cross) / (1 - repeats);
  return repeats * std::max(0.0, share - repeats) * apart * apart;
}
template <class X>
double word_overlap(const Signal<X>& x) {
  return word_overlap(average(x.x), x.repeats, equal_share(x));
}

/// With overlaps as they are by chance, without those of words.
template <class X>
Signal<X> of_words(Signal<X> x) {
  if constexpr (std::is_same_v<typename X::Number, double>) {
    const double same = x.repeats, by_words = word_overlap(x);
    x.x = of_words(x.x, same);
    const Alike<double> mean = average(x.x);
    const double apart = mean.second - mean.cross;
    x.fresh /= (1 - same) * (1 - same);
    const double chance = (x.overlap.variance() - by_words) / (1 - same);
    const double fresh = apart * apart / static_cast<double>(x.width);
    x.overlap = {std::sqrt(chance > 0 ? chance : fresh), 0};
    x.repeats = 0;
    x.same_words = false;
  }
  return x;
}

/// Pairs of samples that a gradient is summed over.
struct WordPairs {
  double same = 0;   ///< the chance that they are one word
  double equal = 0;  ///< E g_t g_u of these over E g^2
};

/// To an overlap by chance that of words.
template <class X>
void add_word_overlap(Signal<X>& x) {
  if constexpr (std::is_same_v<typename X::Number, double>)
    x.overlap.coherent = std::hypot(x.overlap.coherent, std::sqrt(word_overlap(x)));
}

/// dk/dr that equal words make, per standard deviation `deviation` of what overlaps fluctuate by:
/// of a share `same` of the pairs x_t x_u is E x^2, and g_t g_u is `equal` E g^2, where others have
/// (k - same equal g)/(1 - same).
inline double word_slope(const Alike<double>& x, const Alike<double>& g, double equal, double same,
                         double deviation) {
  if (!(same > 0 && same < 1) || !(deviation > 0)) return 0;
  const double root = std::sqrt(same / (1 - same));
  const double of_words = (x.second - x.cross) * root;
  return (equal * g.second - g.cross) * root * std::min(1.0, of_words / deviation);
}

}  // namespace scalecalc::moments
