#include <cmath>

#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/matrix.hpp"
#include "tensor/cpu/parallel.hpp"

namespace scalecalc::tensor {
namespace {

/// Where head `index` of all sequences starts in q, k, v, mix, and in the weights.
struct Head {
  Head(const AttentionShape& s, std::int64_t index)
      : features(index / s.heads * s.tokens * s.width() + index % s.heads * s.head_width),
        weights(index * s.tokens * s.tokens) {}
  std::int64_t features, weights;
};

/// Softmax of the first `n` scores in place; the rest, which the mask hides, becomes 0.
template <class Real>
void softmax_row(Real* row, std::int64_t n, std::int64_t tokens) {
  RowMap<Real> seen(row, n);
  seen = (seen - seen.maxCoeff()).exp();
  seen /= seen.sum();
  std::fill(row + n, row + tokens, Real(0));
}

}  // namespace

template <class Real>
void CpuDevice<Real>::attention_forward(const AttentionShape& s, const Real* q, const Real* k,
                                        const Real* v, Real* weights, Real* mix) {
  for_tiles(threads_, s.sequences * s.heads, [&](std::int64_t index) {
    const Head head(s, index);
    const auto Q = view(q + head.features, s.tokens, s.head_width, s.width());
    const auto K = view(k + head.features, s.tokens, s.head_width, s.width());
    const auto V = view(v + head.features, s.tokens, s.head_width, s.width());
    auto P = view(weights + head.weights, s.tokens, s.tokens);
    P.noalias() = static_cast<Real>(s.scale) * Q * K.transpose();
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      softmax_row(&P(t, 0), s.causal ? t + 1 : s.tokens, s.tokens);
    }
    view(mix + head.features, s.tokens, s.head_width, s.width()).noalias() = P * V;
  });
}

// dV = P^T dM; dP = dM V^T; dS = P o (dP - rowsum(P o dP)); dQ = scale dS K; dK = scale dS^T Q.
template <class Real>
void CpuDevice<Real>::attention_backward(const AttentionShape& s, const Real* q, const Real* k,
                                         const Real* v, const Real* weights, const Real* dmix,
                                         Real* dq, Real* dk, Real* dv) {
  const Real scale = static_cast<Real>(s.scale);
  for_tiles(threads_, s.sequences * s.heads, [&](std::int64_t index) {
    const Head head(s, index);
    const auto Q = view(q + head.features, s.tokens, s.head_width, s.width());
    const auto K = view(k + head.features, s.tokens, s.head_width, s.width());
    const auto V = view(v + head.features, s.tokens, s.head_width, s.width());
    const auto DM = view(dmix + head.features, s.tokens, s.head_width, s.width());
    const auto P = view(weights + head.weights, s.tokens, s.tokens);
    view(dv + head.features, s.tokens, s.head_width, s.width()).noalias() += P.transpose() * DM;
    Matrix<Real> DS(s.tokens, s.tokens);
    DS.noalias() = DM * V.transpose();
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      const Real mean = DS.row(t).dot(P.row(t));
      DS.row(t).array() = scale * P.row(t).array() * (DS.row(t).array() - mean);
    }
    view(dq + head.features, s.tokens, s.head_width, s.width()).noalias() += DS * K;
    view(dk + head.features, s.tokens, s.head_width, s.width()).noalias() += DS.transpose() * Q;
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a type.
#define SCALECALC_INSTANTIATE(Real)                                                         \
  template void CpuDevice<Real>::attention_forward(const AttentionShape&, const Real*,      \
                                                   const Real*, const Real*, Real*, Real*); \
  template void CpuDevice<Real>::attention_backward(const AttentionShape&, const Real*,     \
                                                    const Real*, const Real*, const Real*,  \
                                                    const Real*, Real*, Real*, Real*);
// NOLINTEND(bugprone-macro-parentheses)
SCALECALC_INSTANTIATE(float)
SCALECALC_INSTANTIATE(double)

}  // namespace scalecalc::tensor
