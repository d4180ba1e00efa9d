#pragma once

#include <cmath>
#include <type_traits>

#include "tensor/attention_index.hpp"
#include "tensor/cuda/grid.cuh"
#include "tensor/dropout_rule.hpp"

/// What the attention kernels share: tiles of scores that are made, used and forgotten. A block of
/// 16 x 16 threads holds T x T scores of one head; thread (x, y) those of rows y T/16 .. and of
/// columns x, x + 16, ... Results are T rows of C features.
namespace scalecalc::tensor::cuda {

constexpr int kSide = 16, kAttentionThreads = kSide * kSide;
constexpr int kDepth = 16;  ///< of a slice of a product

/// `rows` rows from `data` on, `stride` entries apart; what lies beyond reads as 0.
template <class Real>
struct Rows {
  const Real* data;
  std::int64_t rows, stride;
  SCALECALC_DEVICE Rows from(std::int64_t row) const {
    return {data + row * stride, rows - row, stride};
  }
};

template <class Real, int T, int C>
class Tile {
 public:
  static constexpr int kRows = T / kSide, kColumns = T / kSide, kFeatures = C / kSide;
  using Scores = Real[kRows][kColumns];
  using Result = Real[kRows][kFeatures];

  SCALECALC_DEVICE Tile() : x(threadIdx.x % kSide), y(threadIdx.x / kSide) {}
  SCALECALC_DEVICE int row(int i) const { return y * kRows + i; }
  SCALECALC_DEVICE int column(int j) const { return x + kSide * j; }

  /// scores += a b^T over `width` features, for T rows of each.
  SCALECALC_DEVICE void multiply(const Rows<Real>& a, const Rows<Real>& b, std::int64_t width,
                                 Scores& scores) const {
    __shared__ Real left[T][kDepth + 1], right[T][kDepth + 1];
    for (std::int64_t first = 0; first < width; first += kDepth) {
      __syncthreads();
      load(a, first, width, left);
      load(b, first, width, right);
      __syncthreads();
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        Real across[kColumns];
#pragma unroll
        for (int j = 0; j < kColumns; ++j) across[j] = right[column(j)][d];
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          const Real down = left[row(i)][d];
#pragma unroll
          for (int j = 0; j < kColumns; ++j) scores[i][j] += down * across[j];
        }
      }
    }
  }

  /// result += weights b (their transpose, if asked) for the T rows of b, `width` features each.
  /// A barrier comes before the weights are read, none after.
  template <bool Transposed>
  SCALECALC_DEVICE void mix(const Real (&weights)[T][T + 1], const Rows<Real>& b,
                            std::int64_t width, Result& result) const {
    __shared__ Real slice[kDepth][C];
    for (int first = 0; first < T && first < b.rows; first += kDepth) {
      __syncthreads();
      for (int e = threadIdx.x; e < kDepth * C; e += kAttentionThreads) {
        const int k = first + e / C, feature = e % C;
        slice[e / C][feature] =
            k < b.rows && feature < width ? b.data[k * b.stride + feature] : Real(0);
      }
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        Real across[kFeatures];
#pragma unroll
        for (int j = 0; j < kFeatures; ++j) across[j] = slice[k][column(j)];
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          const Real weight = Transposed ? weights[first + k][row(i)] : weights[row(i)][first + k];
#pragma unroll
          for (int j = 0; j < kFeatures; ++j) result[i][j] += weight * across[j];
        }
      }
    }
  }

  const int x, y;

 private:
  SCALECALC_DEVICE static void load(const Rows<Real>& from, std::int64_t first, std::int64_t width,
                                    Real (&tile)[T][kDepth + 1]) {
    for (int e = threadIdx.x; e < T * kDepth; e += kAttentionThreads) {
      const int r = e / kDepth, d = e % kDepth;
      tile[r][d] =
          r < from.rows && first + d < width ? from.data[r * from.stride + first + d] : Real(0);
    }
  }
};

/// Sum and maximum over the 16 threads that share rows of a tile.
template <class Real>
SCALECALC_DEVICE inline Real sum_across(Real value) {
  for (int distance = kSide / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xFFFFFFFFu, value, distance);
  }
  return value;
}
template <class Real>
SCALECALC_DEVICE inline Real max_across(Real value) {
  for (int distance = kSide / 2; distance > 0; distance /= 2) {
    const Real other = __shfl_xor_sync(0xFFFFFFFFu, value, distance);
    value = other > value ? other : value;
  }
  return value;
}

/// Where scores come from: products of q and k, or, where they are kept, `kept`.
template <class Real>
struct ScoreSource {
  const Real *q, *k, *kept;
};

/// Those of T queries and T keys; what lies beyond is not read by anyone.
template <class Real, int T, int C>
SCALECALC_DEVICE void make_scores(const AttentionShape& s, const ScoreSource<Real>& from,
                                  const Head& head, std::int64_t query, std::int64_t key,
                                  const Tile<Real, T, C>& tile,
                                  typename Tile<Real, T, C>::Scores& scores) {
  const std::int64_t keys = s.key_tokens();
#pragma unroll
  for (int i = 0; i < tile.kRows; ++i) {
#pragma unroll
    for (int j = 0; j < tile.kColumns; ++j) {
      const std::int64_t t = query + tile.row(i), u = key + tile.column(j);
      const bool inside = from.kept != nullptr && t < s.tokens && u < keys;
      scores[i][j] = inside ? from.kept[weight_index(s, head.row + t, u)] : Real(0);
    }
  }
  if (from.kept != nullptr) {
    __syncthreads();  // as multiply() does: weights of the tile before have been read
    return;
  }
  const Rows<Real> Q{from.q + head.query, s.tokens, s.width()};
  const Rows<Real> K{from.k + head.key, keys, s.key_width()};
  tile.multiply(Q.from(query), K.from(key), s.head_width, scores);
  const Real scale = static_cast<Real>(s.scale);
#pragma unroll
  for (int i = 0; i < tile.kRows; ++i) {
#pragma unroll
    for (int j = 0; j < tile.kColumns; ++j) scores[i][j] *= scale;
  }
}

/// Kept out of line: it is long, and called where loops are unrolled.
static __noinline__ SCALECALC_DEVICE double mask_value(Stream mask, std::uint64_t index) {
  return uniform_value(mask, index);
}

/// What dropout multiplies weight (row, u) by: 1/(1 - rate) or 0.
template <class Real>
SCALECALC_DEVICE inline Real kept_share(const AttentionShape& s, std::int64_t row, std::int64_t u) {
  if (s.dropout <= 0.0) return Real(1);
  const auto index = static_cast<std::uint64_t>(weight_index(s, row, u));
  return dropout_factor(mask_value(s.mask, index), s.dropout, kept_factor<Real>(s.dropout));
}

/// body(T, C as integral constants): the tiles for a head of this width.
template <class Real, class Body>
void with_tile(std::int64_t head_width, const Body& body) {
  if constexpr (sizeof(Real) == sizeof(double)) {
    body(std::integral_constant<int, 32>{}, std::integral_constant<int, 64>{});
  } else if (head_width <= 64) {
    body(std::integral_constant<int, 64>{}, std::integral_constant<int, 64>{});
  } else {
    body(std::integral_constant<int, 64>{}, std::integral_constant<int, 128>{});
  }
}

}  // namespace scalecalc::tensor::cuda
