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
  if constexpr (std::is_same_v<X, Alike<double>>)
    return x.same_words && x.repeats > 0 && x.repeats < 1;
  else
    return false;
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
template <class X>
X of_words(const X& x, double /*same*/) {
  return x;
}
template <class X>
X with_words(const X& x, double /*same*/) {
  return x;
}

/// With overlaps as they are by chance: (m - r_0)^2 kappa (1 - kappa) is that of equal words.
template <class X>
Signal<X> of_words(Signal<X> x) {
  if constexpr (std::is_same_v<X, Alike<double>>) {
    const double same = x.repeats;
    x.x = of_words(x.x, same);
    const double apart = x.x.second - x.x.cross;
    x.fresh /= (1 - same) * (1 - same);
    const double chance = (x.overlap.variance() - same * (1 - same) * apart * apart) / (1 - same);
    const double fresh = apart * apart / static_cast<double>(x.width);
    x.overlap = {std::sqrt(chance > 0 ? chance : fresh), 0};
    x.repeats = 0;
    x.same_words = false;
  }
  return x;
}

/// To an overlap by chance that of equal words; m - r = (1 - kappa)(m - r_0).
template <class X>
void add_word_overlap(double same, Signal<X>& x) {
  if constexpr (std::is_same_v<X, Alike<double>>) {
    const double apart = (x.x.second - x.x.cross) / (1 - same);
    x.overlap.coherent = std::hypot(x.overlap.coherent, apart * std::sqrt(same * (1 - same)));
  }
}

}  // namespace scalecalc::moments
