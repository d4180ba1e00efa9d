#pragma once

#include <cmath>

#include "tensor/device.hpp"

/// Weights of experts by the scores of one token: those of its `top_k` largest, of equal ones the
/// first. Scores, weights and gradients point to a row's first.
namespace scalecalc::tensor {

template <class Real>
SCALECALC_HOST_DEVICE bool is_chosen(const RouteShape& s, const Real* scores, std::int64_t expert) {
  std::int64_t before = 0;
  for (std::int64_t j = 0; j < s.experts; ++j)
    before += scores[j] > scores[expert] || (scores[j] == scores[expert] && j < expert) ? 1 : 0;
  return before < s.top_k;
}

/// e^{z - largest}, or sigmoid(z).
template <class Real>
SCALECALC_HOST_DEVICE Real size_of_score(const RouteShape& s, Real score, Real largest) {
  return s.sigmoid ? Real(1) / (Real(1) + std::exp(-score)) : std::exp(score - largest);
}

template <class Real>
SCALECALC_HOST_DEVICE Real largest_score(const RouteShape& s, const Real* scores) {
  Real largest = scores[0];
  for (std::int64_t e = 1; e < s.experts; ++e)
    if (scores[e] > largest) largest = scores[e];
  return largest;
}

/// What sizes are divided by.
template <class Real>
SCALECALC_HOST_DEVICE Real score_total(const RouteShape& s, const Real* scores, Real largest) {
  if (s.sigmoid && !s.normalised) return Real(1);
  Real total = 0;
  for (std::int64_t e = 0; e < s.experts; ++e)
    if (!s.normalised || is_chosen(s, scores, e)) total += size_of_score(s, scores[e], largest);
  return total;
}

template <class Real>
SCALECALC_HOST_DEVICE void route_row(const RouteShape& s, const Real* scores, Real* weights) {
  const Real largest = largest_score(s, scores), total = score_total(s, scores, largest);
  for (std::int64_t e = 0; e < s.experts; ++e)
    weights[e] = is_chosen(s, scores, e) ? size_of_score(s, scores[e], largest) / total : Real(0);
}

/// dL/dz_e = D_e dw_e - q_e sum_f w_f dw_f: with q what the total has of z_e, D what w_e has
/// beside.
template <class Real>
SCALECALC_HOST_DEVICE void route_row_backward(const RouteShape& s, const Real* scores,
                                              const Real* weights, const Real* dweights,
                                              Into<Real> into, std::int64_t first) {
  const Real largest = largest_score(s, scores), total = score_total(s, scores, largest);
  Real along = 0;
  if (!s.sigmoid || s.normalised)
    for (std::int64_t e = 0; e < s.experts; ++e) along += weights[e] * dweights[e];
  for (std::int64_t e = 0; e < s.experts; ++e) {
    const bool chosen = is_chosen(s, scores, e);
    const Real size = size_of_score(s, scores[e], largest);
    const Real slope = (s.sigmoid ? size * (Real(1) - size) : size) / total;
    const Real own = chosen ? slope * dweights[e] : Real(0);
    const Real shared = chosen || !s.normalised ? slope * along : Real(0);
    into.data[first + e] = into(first + e, own - shared);
  }
}

}  // namespace scalecalc::tensor
