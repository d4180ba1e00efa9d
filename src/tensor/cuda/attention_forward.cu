#include "tensor/cuda/attention.cuh"
#include "tensor/cuda/cuda_device.hpp"

namespace scalecalc::tensor {
namespace {

using cuda::kAttentionThreads;
using cuda::Rows;
using cuda::ScoreSource;
using cuda::Tile;

// One block for T queries of one head and C of its features. Keys come in tiles; each moves the
// maximum and the sum of a row on (Milakov and Gimelshein 2018, "Online normalizer calculation for
// softmax"), and what was mixed so far shrinks by e^(old maximum - new).
template <class Real, int T, int C>
SCALECALC_KERNEL __launch_bounds__(kAttentionThreads, C > 64 ? 1 : 2)
    attention_forward_kernel(AttentionShape s, ScoreSource<Real> from, const Real* v,
                             Real* log_sums, Real* mix, std::int64_t tiles, std::int64_t pieces) {
  __shared__ Real weights[T][T + 1];
  const Tile<Real, T, C> tile;
  // The last queries, which see most keys, first.
  const std::int64_t first = (tiles - 1 - blockIdx.x % tiles) * T;
  const std::int64_t piece = blockIdx.x / tiles % pieces, index = blockIdx.x / tiles / pieces;
  const Head head(s, index / s.heads, index % s.heads);
  const std::int64_t feature = piece * C, keys = s.key_tokens();
  const Rows<Real> V{v + head.key + feature, keys, s.key_width()};

  typename Tile<Real, T, C>::Result mixed = {};
  Real top[T / cuda::kSide], sum[T / cuda::kSide];
#pragma unroll
  for (int i = 0; i < T / cuda::kSide; ++i) {
    top[i] = -Real(INFINITY);
    sum[i] = Real(0);
  }
  const std::int64_t end = keys_seen(s, first + T - 1);
  for (std::int64_t key = 0; key < end; key += T) {
    typename Tile<Real, T, C>::Scores scores;
    cuda::make_scores(s, from, head, first, key, tile, scores);
#pragma unroll
    for (int i = 0; i < tile.kRows; ++i) {
      const std::int64_t t = first + tile.row(i), seen = keys_seen(s, t);
      Real highest = top[i];
#pragma unroll
      for (int j = 0; j < tile.kColumns; ++j) {
        if (key + tile.column(j) >= seen) scores[i][j] = -Real(INFINITY);
        highest = scores[i][j] > highest ? scores[i][j] : highest;
      }
      highest = cuda::max_across(highest);
      const Real shrink = std::exp(top[i] - highest);
      Real added = 0;
#pragma unroll
      for (int j = 0; j < tile.kColumns; ++j) {
        const Real weight = std::exp(scores[i][j] - highest);
        added += weight;
        weights[tile.row(i)][tile.column(j)] =
            weight * cuda::kept_share<Real>(s, head.row + t, key + tile.column(j));
      }
      sum[i] = sum[i] * shrink + cuda::sum_across(added);
      top[i] = highest;
#pragma unroll
      for (int j = 0; j < tile.kFeatures; ++j) mixed[i][j] *= shrink;
    }
    tile.template mix<false>(weights, V.from(key), s.head_width - feature, mixed);
  }
#pragma unroll
  for (int i = 0; i < tile.kRows; ++i) {
    const std::int64_t t = first + tile.row(i);
    if (t >= s.tokens) continue;
    if (piece == 0 && tile.x == 0) log_sums[head.row + t] = top[i] + std::log(sum[i]);
#pragma unroll
    for (int j = 0; j < tile.kFeatures; ++j) {
      const std::int64_t column = feature + tile.column(j);
      if (column < s.head_width) {
        mix[head.query + t * s.width() + column] = mixed[i][j] / sum[i];
      }
    }
  }
}

template <class Real>
void mix_values(const cuda::Queue& queue, const char* operation, const AttentionShape& s,
                const ScoreSource<Real>& from, const Real* v, Real* log_sums, Real* mix) {
  cuda::with_tile<Real>(s.head_width, [&](auto tile, auto columns) {
    constexpr int kTile = decltype(tile)::value, kColumns = decltype(columns)::value;
    const std::int64_t tiles = cuda::pieces(s.tokens, kTile);
    const std::int64_t pieces = cuda::pieces(s.head_width, kColumns);
    cuda::launch(queue, operation,
                 dim3(static_cast<unsigned>(s.sequences * s.heads * pieces * tiles)),
                 dim3(kAttentionThreads), attention_forward_kernel<Real, kTile, kColumns>, s, from,
                 v, log_sums, mix, tiles, pieces);
  });
}

}  // namespace

template <class Real>
void CudaDevice<Real>::attention_forward(const AttentionShape& s, const Real* q, const Real* k,
                                         const Real* v, Real* log_sums, Real* mix) {
  mix_values<Real>(queue_, "attention_forward", s, {q, k, nullptr}, v, log_sums, mix);
}

template <class Real>
void CudaDevice<Real>::mix_forward(const AttentionShape& s, const Real* scores, const Real* v,
                                   Real* log_sums, Real* mix) {
  mix_values<Real>(queue_, "mix_forward", s, {nullptr, nullptr, scores}, v, log_sums, mix);
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
