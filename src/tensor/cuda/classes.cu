#include <cmath>

#include "tensor/class_rule.hpp"
#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/grid.cuh"
#include "tensor/cuda/totals.cuh"

namespace scalecalc::tensor {
namespace {

template <class Real>
struct TakeRows {
  std::int64_t width;
  const std::int32_t* ids;
  const Real* table;
  Real* y;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t column) const {
    y[row * width + column] = table[ids[row] * width + column];
  }
};

/// One block a token. The first token with an id collects the rows of all later ones with the same
/// id, in order; the others have nothing to do.
template <class Real>
SCALECALC_KERNEL embedding_backward_kernel(std::int64_t tokens, std::int64_t width,
                                           const std::int32_t* ids, const Real* dy, Real* dtable) {
  __shared__ std::int32_t piece[256];
  const std::int64_t first = blockIdx.x;
  const std::int32_t id = ids[first];
  int earlier = 0;
  for (std::int64_t t = threadIdx.x; t < first; t += blockDim.x) earlier |= ids[t] == id ? 1 : 0;
  if (cuda::block_max(earlier) != 0) return;
  // Rounds of blockDim.x columns, which all threads take part in.
  for (std::int64_t from = 0; from < width; from += blockDim.x) {
    const std::int64_t column = from + threadIdx.x;
    Real sum = column < width ? dy[first * width + column] : Real(0);
    for (std::int64_t begin = first + 1; begin < tokens; begin += blockDim.x) {
      const std::int64_t count = tokens - begin < blockDim.x ? tokens - begin : blockDim.x;
      __syncthreads();
      if (threadIdx.x < count) piece[threadIdx.x] = ids[begin + threadIdx.x];
      __syncthreads();
      if (column >= width) continue;
      for (std::int64_t k = 0; k < count; ++k) {
        if (piece[k] == id) sum += dy[(begin + k) * width + column];
      }
    }
    if (column < width) dtable[id * width + column] += sum;
  }
}

template <class Real>
SCALECALC_KERNEL cross_entropy_kernel(std::int64_t classes, const Real* logits,
                                      const std::int32_t* targets, Real* probabilities,
                                      double* losses) {
  const Real* in = logits + blockIdx.x * classes;
  Real* out = probabilities + blockIdx.x * classes;
  Real top = in[0];
  for (std::int64_t c = threadIdx.x; c < classes; c += blockDim.x) {
    top = in[c] > top ? in[c] : top;
  }
  top = cuda::block_max(top);
  Real sum = 0;
  for (std::int64_t c = threadIdx.x; c < classes; c += blockDim.x) {
    const Real e = std::exp(in[c] - top);
    out[c] = e;
    sum += e;
  }
  sum = cuda::block_sum(sum);
  for (std::int64_t c = threadIdx.x; c < classes; c += blockDim.x) out[c] /= sum;
  if (threadIdx.x == 0) {
    losses[blockIdx.x] = class_loss(sum, in[targets[blockIdx.x]], top);
  }
}

template <class Real>
struct ClassErrors {
  std::int64_t classes;
  Real factor;
  const Real* probabilities;
  const std::int32_t* targets;
  Into<Real> dlogits;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t c) const {
    const std::int64_t at = row * classes + c;
    const Real hit = c == targets[row] ? Real(1) : Real(0);
    cuda::put(dlogits, at, class_gradient(factor, probabilities[at], hit));
  }
};

}  // namespace

template <class Real>
void CudaDevice<Real>::embedding_forward(std::int64_t tokens, std::int64_t width,
                                         const std::int32_t* ids, const Real* table, Real* y) {
  cuda::for_rows(queue_, "embedding_forward", tokens, width, TakeRows<Real>{width, ids, table, y});
}

template <class Real>
void CudaDevice<Real>::embedding_backward(std::int64_t tokens, std::int64_t width,
                                          const std::int32_t* ids, const Real* dy, Real* dtable) {
  cuda::launch(queue_, "embedding_backward", dim3(static_cast<unsigned>(tokens)),
               dim3(cuda::row_threads(width)), embedding_backward_kernel<Real>, tokens, width, ids,
               dy, dtable);
}

template <class Real>
double CudaDevice<Real>::cross_entropy_forward(std::int64_t tokens, std::int64_t classes,
                                               const Real* logits, const std::int32_t* targets,
                                               Real* probabilities) {
  const cuda::Scratch<double> losses(buffers_, tokens);
  cuda::launch(queue_, "cross_entropy_forward", dim3(static_cast<unsigned>(tokens)),
               dim3(cuda::row_threads(classes)), cross_entropy_kernel<Real>, classes, logits,
               targets, probabilities, losses.data());
  return *cuda::add_sets<1>(queue_, "cross_entropy_forward", tokens, losses.data());
}

template <class Real>
void CudaDevice<Real>::cross_entropy_backward(std::int64_t tokens, std::int64_t classes,
                                              const Real* probabilities,
                                              const std::int32_t* targets, double scale,
                                              Into<Real> dlogits) {
  if (!dlogits) return;
  cuda::for_rows(
      queue_, "cross_entropy_backward", tokens, classes,
      ClassErrors<Real>{classes, static_cast<Real>(scale), probabilities, targets, dlogits});
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
