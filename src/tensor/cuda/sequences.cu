#include <limits>

#include "tensor/cuda/columns.cuh"
#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/totals.cuh"

namespace scalecalc::tensor {
namespace {

/// One block for 32 features of one sequence: the sums of x, of x^2, and of x_t x_s over t != s.
template <class Real>
SCALECALC_KERNEL moments_kernel(SequenceShape s, const Real* x, double* out) {
  __shared__ double features[3][cuda::kColumnsAcross];
  const std::int64_t column =
      static_cast<std::int64_t>(blockIdx.y) * cuda::kColumnsAcross + threadIdx.x;
  const Real* from = x + blockIdx.x * s.tokens * s.width + column;
  double sums[2] = {0.0, 0.0};  // of x and of x^2
  if (column < s.width) {
    for (std::int64_t t = threadIdx.y; t < s.tokens; t += cuda::kColumnsDown) {
      const double value = static_cast<double>(from[t * s.width]);
      sums[0] += value;
      sums[1] += value * value;
    }
  }
  cuda::sum_down(sums);
  if (threadIdx.y == 0) {
    features[0][threadIdx.x] = sums[0];
    features[1][threadIdx.x] = sums[1];
    features[2][threadIdx.x] = sums[0] * sums[0] - sums[1];
  }
  __syncthreads();
  if (threadIdx.y != 0 || threadIdx.x >= 3) return;
  double sum = 0.0;
  for (int i = 0; i < cuda::kColumnsAcross; ++i) sum += features[threadIdx.x][i];
  out[(static_cast<std::int64_t>(blockIdx.x) * gridDim.y + blockIdx.y) * 3 + threadIdx.x] = sum;
}

template <class Real>
struct PoolTokens {
  SequenceShape s;
  Real share;
  const Real* x;
  Real* y;
  SCALECALC_DEVICE void operator()(std::int64_t sequence, std::int64_t column) const {
    const Real* from = x + sequence * s.tokens * s.width + column;
    Real sum = 0;
    for (std::int64_t t = 0; t < s.tokens; ++t) sum += share * from[t * s.width];
    y[sequence * s.width + column] = sum;
  }
};

/// Rows are sequences; every token of one gets the same share.
template <class Real>
struct SpreadTokens {
  SequenceShape s;
  Real share;
  const Real* dy;
  Into<Real> dx;
  SCALECALC_DEVICE void operator()(std::int64_t sequence, std::int64_t column) const {
    const Real value = share * dy[sequence * s.width + column];
    const std::int64_t first = sequence * s.tokens * s.width + column;
    for (std::int64_t t = 0; t < s.tokens; ++t) cuda::put(dx, first + t * s.width, value);
  }
};

template <class Real>
Real share_of(const SequenceShape& s) {
  return static_cast<Real>(1.0 / static_cast<double>(s.tokens));
}

}  // namespace

template <class Real>
Moments CudaDevice<Real>::moments(const SequenceShape& s, const Real* x) {
  const unsigned across = cuda::blocks_of(s.width, cuda::kColumnsAcross);
  const cuda::Scratch<double> sets(buffers_, s.sequences * across * 3);
  cuda::launch(queue_, "moments", dim3(static_cast<unsigned>(s.sequences), across),
               dim3(cuda::kColumnsAcross, cuda::kColumnsDown), moments_kernel<Real>, s, x,
               sets.data());
  const double* sums = cuda::add_sets<3>(queue_, "moments", s.sequences * across, sets.data());
  const double tokens = static_cast<double>(s.tokens);
  const double entries = static_cast<double>(s.sequences) * tokens * static_cast<double>(s.width);
  const double cross = s.tokens > 1 ? sums[2] / (entries * (tokens - 1.0))
                                    : std::numeric_limits<double>::quiet_NaN();
  return {sums[0] / entries, sums[1] / entries, cross};
}

template <class Real>
void CudaDevice<Real>::pool_forward(const SequenceShape& s, const Real* x, Real* y) {
  cuda::for_rows(queue_, "pool_forward", s.sequences, s.width,
                 PoolTokens<Real>{s, share_of<Real>(s), x, y});
}

template <class Real>
void CudaDevice<Real>::pool_backward(const SequenceShape& s, const Real* dy, Into<Real> dx) {
  if (!dx) return;
  cuda::for_rows(queue_, "pool_backward", s.sequences, s.width,
                 SpreadTokens<Real>{s, share_of<Real>(s), dy, dx});
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
