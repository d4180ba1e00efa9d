#include "tensor/cuda/attention.cuh"
#include "tensor/cuda/cuda_device.hpp"

// Scores that are kept, for others to be added to: one block makes T x T of them.
namespace scalecalc::tensor {
namespace {

using cuda::kAttentionThreads;
using cuda::Tile;

template <class Real, int T, int C>
SCALECALC_KERNEL __launch_bounds__(kAttentionThreads, C > 64 ? 1 : 2)
    scores_kernel(AttentionShape s, cuda::ScoreSource<Real> from, const Real* before, Real* scores,
                  std::int64_t tiles, std::int64_t across) {
  const Tile<Real, T, C> tile;
  const std::int64_t query = blockIdx.x / across % tiles * T, key = blockIdx.x % across * T;
  const std::int64_t index = blockIdx.x / across / tiles, keys = s.key_tokens();
  const Head head(s, index / s.heads, index % s.heads);
  typename Tile<Real, T, C>::Scores own;
  cuda::make_scores(s, from, head, query, key, tile, own);
#pragma unroll
  for (int i = 0; i < tile.kRows; ++i) {
    const std::int64_t t = query + tile.row(i);
#pragma unroll
    for (int j = 0; j < tile.kColumns; ++j) {
      const std::int64_t u = key + tile.column(j), at = weight_index(s, head.row + t, u);
      if (t >= s.tokens || u >= keys) continue;
      const Real added = before != nullptr ? own[i][j] + before[at] : own[i][j];
      scores[at] = u < keys_seen(s, t) ? added : Real(0);
    }
  }
}

}  // namespace

template <class Real>
void CudaDevice<Real>::scores_forward(const AttentionShape& s, const Real* q, const Real* k,
                                      const Real* before, Real* scores) {
  cuda::with_tile<Real>(s.head_width, [&](auto tile, auto columns) {
    constexpr int kTile = decltype(tile)::value, kColumns = decltype(columns)::value;
    const std::int64_t tiles = cuda::pieces(s.tokens, kTile);
    const std::int64_t across = cuda::pieces(s.key_tokens(), kTile);
    cuda::launch(queue_, "scores_forward",
                 dim3(static_cast<unsigned>(s.sequences * s.heads * tiles * across)),
                 dim3(kAttentionThreads), scores_kernel<Real, kTile, kColumns>, s,
                 cuda::ScoreSource<Real>{q, k, nullptr}, before, scores, tiles, across);
  });
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
