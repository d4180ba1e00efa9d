#pragma once

#include "moments/layers/dropout.hpp"
#include "moments/linear_map.hpp"

/// What factors and shifts of a sample, the same for all of its tokens, make of moments
/// (docs/theory/layers.md#modulation).
namespace scalecalc::moments {

/// Of the factor u = b + s of two tokens, b = 1 of a norm's output and 0 of a branch's, and of the
/// shift t. `second` is of one sample, `between` of two.
template <class N>
struct SampleFactors {
  N base{};                                                 ///< b
  Alike<N> factor;                                          ///< of s
  Alike<N> shift;                                           ///< of t; 0 where there is none
  N square() const { return base * base + factor.second; }  ///< E u^2
  N square_between() const { return base * base + factor.between; }  ///< E u_a u_b
  /// E u^4 - (E u^2)^2, and E u_a^2 u_b^2 - (E u_a u_b)^2: s is Gaussian.
  N beyond() const { return 4 * base * base * factor.second + 2 * factor.second * factor.second; }
  N beyond_between() const {
    return 2 * base * base * (factor.second + factor.between) + factor.second * factor.second +
           factor.between * factor.between;
  }
  /// Cov(u_a^2, u_b^2) of two samples.
  N covariance_between() const {
    return 4 * base * base * factor.between + 2 * factor.between * factor.between;
  }
};

/// x u + t, with what pairs of two sequences have of both.
template <class N, class X>
X modulated(const SampleFactors<N>& of, const X& x, const N& mean) {
  using T = Token<N>;
  const auto with = [&](const N& factor, const N& shift) {
    return map(
        x,
        [&](const T& u) {
          return T{N(mean * u.mean), N(of.square() * u.second + of.shift.second)};
        },
        [&](const T&, const T&, const N& cross) { return N(factor * cross + shift); });
  };
  return with_between_of(with(of.square(), of.shift.second),
                         with(of.square_between(), of.shift.between));
}

/// Of pairs within a sequence times one number, and of those of two sequences times another.
template <class N, class X>
X scaled_by_kind(const X& x, const N& within, const N& between) {
  return with_between_of(scaled(x, within), scaled(x, between));
}

/// Sums over the tokens of a sample, and over those of two samples.
template <class N>
struct SampleSums {
  N own{}, between{};
};
/// sum over t, u of x_t g_u.
template <class X, class N>
SampleSums<N> sample_sums(const X& x, const X& g, const N& tokens, bool several) {
  const N own = token_sum(x, g, tokens, N(1));
  if (!several) return {own, N(0)};
  return {own, (token_sum(x, g, tokens, N(2)) - 2 * own) / 2};
}
/// sum over t, u of g_u.
template <class X, class N>
SampleSums<N> sample_sums(const X& g, const N& tokens, bool several) {
  return sample_sums(each(g, [](const N&) { return N(1); }), g, tokens, several);
}

}  // namespace scalecalc::moments
