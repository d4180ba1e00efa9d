#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/grid.cuh"
#include "tensor/cuda/reduce.cuh"

namespace scalecalc::tensor {
namespace {

template <class Real>
struct TakeBiases {
  BiasShape s;
  const std::int32_t* buckets;
  const Real* table;
  Real* y;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t entry) const {
    y[row * s.tokens * s.keys + entry] = table[buckets[entry] * s.heads + row % s.heads];
  }
};

/// One block an entry of the table, row by row.
template <class Real>
SCALECALC_KERNEL relative_backward_kernel(BiasShape s, const std::int32_t* buckets, const Real* dy,
                                          Real* dtable) {
  const std::int64_t bucket = blockIdx.x / s.heads, head = blockIdx.x % s.heads;
  const std::int64_t entries = s.tokens * s.keys;
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < entries; i += blockDim.x) {
    if (buckets[i] != bucket) continue;
    for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence)
      sum += static_cast<double>(dy[(sequence * s.heads + head) * entries + i]);
  }
  sum = cuda::block_sum(sum);
  if (threadIdx.x == 0) dtable[blockIdx.x] += static_cast<Real>(sum);
}

}  // namespace

template <class Real>
void CudaDevice<Real>::relative_forward(const BiasShape& s, const std::int32_t* buckets,
                                        const Real* table, Real* y) {
  cuda::for_rows(queue_, "relative_forward", s.sequences * s.heads, s.tokens * s.keys,
                 TakeBiases<Real>{s, buckets, table, y});
}

template <class Real>
void CudaDevice<Real>::relative_backward(const BiasShape& s, const std::int32_t* buckets,
                                         const Real* dy, Real* dtable) {
  cuda::launch(queue_, "relative_backward", dim3(static_cast<unsigned>(s.buckets * s.heads)),
               dim3(cuda::row_threads(s.tokens * s.keys)), relative_backward_kernel<Real>, s,
               buckets, dy, dtable);
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
