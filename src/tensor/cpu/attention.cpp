#include <cmath>
#include <vector>

#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/matrix.hpp"
#include "tensor/cpu/parallel.hpp"

namespace scalecalc::tensor {
namespace {

/// Where one query head starts in q and the mix, in k and v, and in the weights.
struct Head {
  Head(const AttentionShape& s, std::int64_t sequence, std::int64_t head)
      : query(sequence * s.tokens * s.width() + head * s.head_width),
        key(sequence * s.key_tokens() * s.key_width() +
            head / (s.heads / s.key_heads()) * s.head_width),
        weights((sequence * s.heads + head) * s.tokens * s.key_tokens()) {}
  std::int64_t query, key, weights;
};

/// body(head) for all heads of all sequences; those that share a key head follow one another in
/// one tile, so that they may add to the same gradient.
template <class Body>
void for_heads(int threads, const AttentionShape& s, const Body& body) {
  const std::int64_t group = s.heads / s.key_heads();
  for_tiles(threads, s.sequences * s.key_heads(), [&](std::int64_t tile) {
    const std::int64_t sequence = tile / s.key_heads(), first = tile % s.key_heads() * group;
    for (std::int64_t head = first; head < first + group; ++head) body(Head(s, sequence, head));
  });
}

/// Softmax of the first `n` scores in place; the rest, which the mask hides, becomes 0.
template <class Real>
void softmax_row(Real* row, std::int64_t n, std::int64_t keys) {
  RowMap<Real> seen(row, n);
  seen = (seen - seen.maxCoeff()).exp();
  seen /= seen.sum();
  std::fill(row + n, row + keys, Real(0));
}

/// What dropout multiplies one head's weights by: 1/(1 - rate) or 0.
template <class Real>
Matrix<Real> dropout_mask(const AttentionShape& s, const Head& head) {
  Matrix<Real> mask(s.tokens, s.key_tokens());
  std::vector<double> uniform(static_cast<std::size_t>(mask.size()));
  fill_uniform(s.mask, static_cast<std::uint64_t>(head.weights), mask.size(), uniform.data());
  const Real kept = static_cast<Real>(1.0 / (1.0 - s.dropout));
  for (Eigen::Index i = 0; i < mask.size(); ++i) {
    mask.data()[i] = uniform[static_cast<std::size_t>(i)] < s.dropout ? Real(0) : kept;
  }
  return mask;
}

}  // namespace

template <class Real>
void CpuDevice<Real>::attention_forward(const AttentionShape& s, const Real* q, const Real* k,
                                        const Real* v, Real* weights, Real* mix) {
  for_heads(threads_, s, [&](const Head& head) {
    const auto Q = view(q + head.query, s.tokens, s.head_width, s.width());
    const auto K = view(k + head.key, s.key_tokens(), s.head_width, s.key_width());
    const auto V = view(v + head.key, s.key_tokens(), s.head_width, s.key_width());
    auto P = view(weights + head.weights, s.tokens, s.key_tokens());
    P.noalias() = static_cast<Real>(s.scale) * Q * K.transpose();
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      softmax_row(&P(t, 0), s.causal ? t + 1 : s.key_tokens(), s.key_tokens());
    }
    auto M = view(mix + head.query, s.tokens, s.head_width, s.width());
    if (s.dropout > 0.0) {
      M.noalias() = P.cwiseProduct(dropout_mask<Real>(s, head)) * V;
    } else {
      M.noalias() = P * V;
    }
  });
}

// With the masked weights P' = P o mask: dV = P'^T dM; dP = (dM V^T) o mask;
// dS = P o (dP - rowsum(P o dP)); dQ = scale dS K; dK = scale dS^T Q.
template <class Real>
void CpuDevice<Real>::attention_backward(const AttentionShape& s, const Real* q, const Real* k,
                                         const Real* v, const Real* weights, const Real* dmix,
                                         Real* dq, Real* dk, Real* dv) {
  const Real scale = static_cast<Real>(s.scale);
  const std::int64_t keys = s.key_tokens(), key_stride = s.key_width();
  for_heads(threads_, s, [&](const Head& head) {
    const auto Q = view(q + head.query, s.tokens, s.head_width, s.width());
    const auto K = view(k + head.key, keys, s.head_width, key_stride);
    const auto V = view(v + head.key, keys, s.head_width, key_stride);
    const auto DM = view(dmix + head.query, s.tokens, s.head_width, s.width());
    const auto P = view(weights + head.weights, s.tokens, keys);
    const Matrix<Real> mask = s.dropout > 0.0 ? dropout_mask<Real>(s, head) : Matrix<Real>();
    if (dv != nullptr) {
      auto DV = view(dv + head.key, keys, s.head_width, key_stride);
      if (s.dropout > 0.0) {
        DV.noalias() += P.cwiseProduct(mask).transpose() * DM;
      } else {
        DV.noalias() += P.transpose() * DM;
      }
    }
    Matrix<Real> DS(s.tokens, keys);
    DS.noalias() = DM * V.transpose();
    if (s.dropout > 0.0) DS.array() *= mask.array();
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      const Real mean = DS.row(t).dot(P.row(t));
      DS.row(t).array() = scale * P.row(t).array() * (DS.row(t).array() - mean);
    }
    if (dq != nullptr) view(dq + head.query, s.tokens, s.head_width, s.width()).noalias() += DS * K;
    if (dk != nullptr) {
      view(dk + head.key, keys, s.head_width, key_stride).noalias() += DS.transpose() * Q;
    }
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
