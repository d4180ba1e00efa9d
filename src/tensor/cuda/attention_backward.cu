#include "tensor/cuda/attention.cuh"
#include "tensor/cuda/cuda_device.hpp"

// With the weights P made again from their sums, P' = P o mask: dV = P'^T dM; dP = (dM V^T) o mask;
// dS = P o (dP - rowsum(P o dP)); dQ = scale dS K; dK = scale dS^T Q. rowsum(P o dP) is the inner
// product of dM and the mix, row by row (Dao 2023, "FlashAttention-2").
namespace scalecalc::tensor {
namespace {

using cuda::kAttentionThreads;
using cuda::kSide;
using cuda::Rows;
using cuda::ScoreSource;
using cuda::Tile;

template <class Real>
struct Operands {
  ScoreSource<Real> scores;
  const Real *v, *log_sums, *dmix;
  const Real* along;              ///< the inner product of dM and the mix, for each row of weights
  const Real* dscores = nullptr;  ///< where they are known; nothing but q and k is needed then
};

/// One row of weights for 16 threads.
template <class Real>
SCALECALC_KERNEL along_kernel(AttentionShape s, const Real* mix, const Real* dmix, Real* along) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kSide + threadIdx.x / kSide;
  const bool inside = row < s.weight_rows();
  const std::int64_t index = row / s.tokens;
  const Head head(s, index / s.heads, index % s.heads);
  const std::int64_t first = head.query + row % s.tokens * s.width();
  Real sum = 0;
  for (std::int64_t i = threadIdx.x % kSide; inside && i < s.head_width; i += kSide) {
    sum += mix[first + i] * dmix[first + i];
  }
  sum = cuda::sum_across(sum);
  if (inside && threadIdx.x % kSide == 0) along[row] = sum;
}

/// The weights of T queries and T keys, and the gradients of their products, `scale` times those of
/// their scores.
template <class Real, int T, int C>
SCALECALC_DEVICE void scores_of(const AttentionShape& s, const Operands<Real>& in, const Head& head,
                                std::int64_t query, std::int64_t key, const Tile<Real, T, C>& tile,
                                typename Tile<Real, T, C>::Scores& masked,
                                typename Tile<Real, T, C>::Scores& slopes) {
  const std::int64_t keys = s.key_tokens();
  const Real scale = static_cast<Real>(s.scale);
  if (in.dscores != nullptr) {
    cuda::make_scores<Real>(s, {nullptr, nullptr, in.dscores}, head, query, key, tile, slopes);
#pragma unroll
    for (int i = 0; i < tile.kRows; ++i) {
#pragma unroll
      for (int j = 0; j < tile.kColumns; ++j) slopes[i][j] *= scale;
    }
    return;
  }
  const Rows<Real> DM{in.dmix + head.query, s.tokens, s.width()};
  const Rows<Real> V{in.v + head.key, keys, s.key_width()};
  cuda::make_scores(s, in.scores, head, query, key, tile, masked);
#pragma unroll
  for (int i = 0; i < tile.kRows; ++i) {
#pragma unroll
    for (int j = 0; j < tile.kColumns; ++j) slopes[i][j] = Real(0);
  }
  tile.multiply(DM.from(query), V.from(key), s.head_width, slopes);
#pragma unroll
  for (int i = 0; i < tile.kRows; ++i) {
    const std::int64_t t = query + tile.row(i);
    const bool inside = t < s.tokens;
    const std::int64_t keys_of_row = inside ? keys_seen(s, t) : 0;
    const Real log_sum = inside ? in.log_sums[head.row + t] : Real(0);
    const Real along = inside ? in.along[head.row + t] : Real(0);
#pragma unroll
    for (int j = 0; j < tile.kColumns; ++j) {
      const std::int64_t u = key + tile.column(j);
      const bool seen = u < keys_of_row;
      const Real weight = seen ? std::exp(masked[i][j] - log_sum) : Real(0);
      const Real share = seen ? cuda::kept_share<Real>(s, head.row + t, u) : Real(0);
      masked[i][j] = weight * share;
      slopes[i][j] = score_gradient(scale, weight, share * slopes[i][j], along);
    }
  }
}

template <class Real, int T, int C>
SCALECALC_DEVICE void keep(const Tile<Real, T, C>& tile,
                           const typename Tile<Real, T, C>::Scores& scores,
                           Real (&weights)[T][T + 1]) {
#pragma unroll
  for (int i = 0; i < tile.kRows; ++i) {
#pragma unroll
    for (int j = 0; j < tile.kColumns; ++j) {
      weights[tile.row(i)][tile.column(j)] = scores[i][j];
    }
  }
}

/// Rows from `first` on of a head's gradient, which begins at `begin`.
template <class Real, int T, int C>
SCALECALC_DEVICE void put_rows(const Tile<Real, T, C>& tile,
                               const typename Tile<Real, T, C>::Result& result, std::int64_t first,
                               std::int64_t rows, std::int64_t begin, std::int64_t stride,
                               std::int64_t features, const Into<Real>& into) {
#pragma unroll
  for (int i = 0; i < tile.kRows; ++i) {
    const std::int64_t row = first + tile.row(i);
#pragma unroll
    for (int j = 0; row < rows && j < tile.kFeatures; ++j) {
      if (tile.column(j) < features) {
        cuda::put(into, begin + row * stride + tile.column(j), result[i][j]);
      }
    }
  }
}

/// One block for T queries of one head and C of its features.
template <class Real, int T, int C>
SCALECALC_KERNEL __launch_bounds__(kAttentionThreads, C > 64 ? 1 : 2)
    query_gradient_kernel(AttentionShape s, Operands<Real> in, Into<Real> dq, std::int64_t tiles,
                          std::int64_t pieces) {
  __shared__ Real weights[T][T + 1];
  const Tile<Real, T, C> tile;
  const std::int64_t query = (tiles - 1 - blockIdx.x % tiles) * T;
  const std::int64_t feature = blockIdx.x / tiles % pieces * C;
  const std::int64_t index = blockIdx.x / tiles / pieces, keys = s.key_tokens();
  const Head head(s, index / s.heads, index % s.heads);
  const Rows<Real> K{in.scores.k + head.key + feature, keys, s.key_width()};
  typename Tile<Real, T, C>::Result result = {};
  const std::int64_t end = keys_seen(s, query + T - 1);
  for (std::int64_t key = 0; key < end; key += T) {
    typename Tile<Real, T, C>::Scores masked, slopes;
    scores_of(s, in, head, query, key, tile, masked, slopes);
    keep(tile, slopes, weights);
    tile.template mix<false>(weights, K.from(key), s.head_width - feature, result);
  }
  put_rows(tile, result, query, s.tokens, head.query + feature, s.width(), s.head_width - feature,
           dq);
}

/// One block for T keys and C features of one key head; the heads that share it come in order.
template <class Real, int T, int C>
SCALECALC_KERNEL __launch_bounds__(kAttentionThreads, C > 64 ? 1 : 2)
    key_gradient_kernel(AttentionShape s, Operands<Real> in, Into<Real> dk, Into<Real> dv,
                        std::int64_t tiles, std::int64_t pieces) {
  __shared__ Real weights[T][T + 1];
  const Tile<Real, T, C> tile;
  const std::int64_t key = blockIdx.x % tiles * T, feature = blockIdx.x / tiles % pieces * C;
  const std::int64_t index = blockIdx.x / tiles / pieces;
  const std::int64_t sequence = index / s.key_heads(), group = heads_per_key(s);
  const std::int64_t first_head = index % s.key_heads() * group;
  typename Tile<Real, T, C>::Result key_sum = {}, value_sum = {};
  for (std::int64_t h = first_head; h < first_head + group; ++h) {
    const Head head(s, sequence, h);
    const Rows<Real> Q{in.scores.q + head.query + feature, s.tokens, s.width()};
    const Rows<Real> DM{in.dmix + head.query + feature, s.tokens, s.width()};
    for (std::int64_t query = s.causal ? key : 0; query < s.tokens; query += T) {
      typename Tile<Real, T, C>::Scores masked, slopes;
      scores_of(s, in, head, query, key, tile, masked, slopes);
      if (dv.data != nullptr) {
        keep(tile, masked, weights);
        tile.template mix<true>(weights, DM.from(query), s.head_width - feature, value_sum);
        __syncthreads();
      }
      if (dk.data != nullptr) {
        keep(tile, slopes, weights);
        tile.template mix<true>(weights, Q.from(query), s.head_width - feature, key_sum);
      }
    }
  }
  const std::int64_t begin = Head(s, sequence, first_head).key + feature, keys = s.key_tokens();
  const std::int64_t features = s.head_width - feature;
  if (dk.data != nullptr) {
    put_rows(tile, key_sum, key, keys, begin, s.key_width(), features, dk);
  }
  if (dv.data != nullptr) {
    put_rows(tile, value_sum, key, keys, begin, s.key_width(), features, dv);
  }
}

/// The gradients of scores that are kept: one block for T queries and T keys of one head.
template <class Real, int T, int C>
SCALECALC_KERNEL __launch_bounds__(kAttentionThreads, C > 64 ? 1 : 2)
    score_gradient_kernel(AttentionShape s, Operands<Real> in, Into<Real> dscores,
                          std::int64_t tiles, std::int64_t across) {
  const Tile<Real, T, C> tile;
  const std::int64_t query = blockIdx.x / across % tiles * T, key = blockIdx.x % across * T;
  const std::int64_t index = blockIdx.x / across / tiles, keys = s.key_tokens();
  const Head head(s, index / s.heads, index % s.heads);
  typename Tile<Real, T, C>::Scores masked, slopes;
  scores_of(s, in, head, query, key, tile, masked, slopes);
#pragma unroll
  for (int i = 0; i < tile.kRows; ++i) {
    const std::int64_t t = query + tile.row(i);
#pragma unroll
    for (int j = 0; j < tile.kColumns; ++j) {
      const std::int64_t u = key + tile.column(j);
      if (t < s.tokens && u < keys)
        cuda::put(dscores, weight_index(s, head.row + t, u), slopes[i][j]);
    }
  }
}

template <class Real>
void along_mix(const cuda::Queue& queue, const char* operation, const AttentionShape& s,
               const Real* mix, const Real* dmix, Real* along) {
  cuda::launch(queue, operation, dim3(cuda::blocks_of(s.weight_rows(), kSide, INT32_MAX)),
               dim3(kAttentionThreads), along_kernel<Real>, s, mix, dmix, along);
}

template <class Real, int T, int C>
void query_gradients(const cuda::Queue& queue, const char* operation, const AttentionShape& s,
                     const Operands<Real>& in, Into<Real> dq) {
  const std::int64_t tiles = cuda::pieces(s.tokens, T), pieces = cuda::pieces(s.head_width, C);
  cuda::launch(
      queue, operation, dim3(static_cast<unsigned>(s.sequences * s.heads * pieces * tiles)),
      dim3(kAttentionThreads), query_gradient_kernel<Real, T, C>, s, in, dq, tiles, pieces);
}

/// dk or dv alone may be null.
template <class Real, int T, int C>
void key_gradients(const cuda::Queue& queue, const char* operation, const AttentionShape& s,
                   const Operands<Real>& in, Into<Real> dk, Into<Real> dv) {
  const std::int64_t tiles = cuda::pieces(s.key_tokens(), T);
  const std::int64_t pieces = cuda::pieces(s.head_width, C);
  cuda::launch(
      queue, operation, dim3(static_cast<unsigned>(s.sequences * s.key_heads() * pieces * tiles)),
      dim3(kAttentionThreads), key_gradient_kernel<Real, T, C>, s, in, dk, dv, tiles, pieces);
}

}  // namespace

template <class Real>
void CudaDevice<Real>::attention_backward(const AttentionShape& s, const Real* q, const Real* k,
                                          const Real* v, const Real* log_sums, const Real* mix,
                                          const Real* dmix, Into<Real> dq, Into<Real> dk,
                                          Into<Real> dv) {
  const cuda::Scratch<Real> along(buffers_, s.weight_rows());
  along_mix(queue_, "attention_backward", s, mix, dmix, along.data());
  const Operands<Real> in{{q, k, nullptr}, v, log_sums, dmix, along.data()};
  cuda::with_tile<Real>(s.head_width, [&](auto tile, auto columns) {
    constexpr int kTile = decltype(tile)::value, kColumns = decltype(columns)::value;
    if (dq) query_gradients<Real, kTile, kColumns>(queue_, "attention_backward", s, in, dq);
    if (dk || dv) key_gradients<Real, kTile, kColumns>(queue_, "attention_backward", s, in, dk, dv);
  });
}

template <class Real>
void CudaDevice<Real>::mix_backward(const AttentionShape& shape, const Real* scores, const Real* v,
                                    const Real* log_sums, const Real* mix, const Real* dmix,
                                    Into<Real> dscores, Into<Real> dv) {
  AttentionShape s = shape;
  s.scale = 1.0;  // the scores have it
  const cuda::Scratch<Real> along(buffers_, s.weight_rows());
  along_mix(queue_, "mix_backward", s, mix, dmix, along.data());
  const Operands<Real> in{{nullptr, nullptr, scores}, v, log_sums, dmix, along.data()};
  cuda::with_tile<Real>(s.head_width, [&](auto tile, auto columns) {
    constexpr int kTile = decltype(tile)::value, kColumns = decltype(columns)::value;
    if (dscores) {
      const std::int64_t tiles = cuda::pieces(s.tokens, kTile);
      const std::int64_t across = cuda::pieces(s.key_tokens(), kTile);
      cuda::launch(queue_, "mix_backward",
                   dim3(static_cast<unsigned>(s.sequences * s.heads * tiles * across)),
                   dim3(kAttentionThreads), score_gradient_kernel<Real, kTile, kColumns>, s, in,
                   dscores, tiles, across);
    }
    if (dv) key_gradients<Real, kTile, kColumns>(queue_, "mix_backward", s, in, {}, dv);
  });
}

template <class Real>
void CudaDevice<Real>::scores_backward(const AttentionShape& s, const Real* q, const Real* k,
                                       const Real* dscores, Into<Real> dq, Into<Real> dk) {
  const Operands<Real> in{{q, k, nullptr}, nullptr, nullptr, nullptr, nullptr, dscores};
  cuda::with_tile<Real>(s.head_width, [&](auto tile, auto columns) {
    constexpr int kTile = decltype(tile)::value, kColumns = decltype(columns)::value;
    if (dq) query_gradients<Real, kTile, kColumns>(queue_, "scores_backward", s, in, dq);
    if (dk) key_gradients<Real, kTile, kColumns>(queue_, "scores_backward", s, in, dk, {});
  });
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
