#include "tensor/cuda/columns.cuh"
#include "tensor/cuda/cuda_device.hpp"
#include "tensor/norm_rule.hpp"

// One block for 32 columns of one group, in double as on the CPU.
namespace scalecalc::tensor {
namespace {

/// Which entries a thread of the block has.
struct Place {
  SCALECALC_DEVICE explicit Place(const ColumnNormShape& s)
      : column(static_cast<std::int64_t>(blockIdx.y) * cuda::kColumnsAcross + threadIdx.x),
        out(blockIdx.x * s.width + column),
        first(blockIdx.x * s.rows * s.width + column),
        inside(column < s.width) {}
  std::int64_t column, out, first;
  bool inside;
};

/// The mean over the rows of `Count` terms at once, for every thread of a column.
template <int Count, class Terms>
SCALECALC_DEVICE void column_means(const ColumnNormShape& s, const Place& at, const Terms& terms,
                                   double (&means)[Count]) {
  __shared__ double all[Count][cuda::kColumnsAcross];
  for (double& mean : means) mean = 0.0;
  if (at.inside) {
    for (std::int64_t row = threadIdx.y; row < s.rows; row += cuda::kColumnsDown) {
      terms(at.first + row * s.width, means);
    }
  }
  cuda::sum_down(means);
  if (threadIdx.y == 0) {
    for (int k = 0; k < Count; ++k) {
      all[k][threadIdx.x] = means[k] / static_cast<double>(s.rows);
    }
  }
  __syncthreads();
  for (int k = 0; k < Count; ++k) means[k] = all[k][threadIdx.x];
}

template <class Real>
SCALECALC_KERNEL column_norm_forward_kernel(ColumnNormShape s, const Real* x, Real* y,
                                            Real* inverse) {
  const Place at(s);
  double mean[1] = {0.0}, power[1];
  if (s.centred) {
    const double base = at.inside ? static_cast<double>(x[at.first]) : 0.0;
    column_means(
        s, at, [&](std::int64_t i, double(&sum)[1]) { sum[0] += static_cast<double>(x[i]) - base; },
        mean);
    mean[0] += base;
  }
  column_means(
      s, at,
      [&](std::int64_t i, double(&sum)[1]) {
        const double apart = static_cast<double>(x[i]) - mean[0];
        sum[0] += apart * apart;
      },
      power);
  if (!at.inside) return;
  const double factor = norm_factor(power[0] + s.eps);
  if (threadIdx.y == 0) inverse[at.out] = static_cast<Real>(factor);
  for (std::int64_t row = threadIdx.y; row < s.rows; row += cuda::kColumnsDown) {
    const std::int64_t i = at.first + row * s.width;
    y[i] = static_cast<Real>(normalised(static_cast<double>(x[i]), mean[0], factor));
  }
}

template <class Real>
SCALECALC_KERNEL column_norm_backward_kernel(ColumnNormShape s, const Real* y, const Real* inverse,
                                             const Real* dy, Into<Real> dx) {
  const Place at(s);
  double means[2];
  column_means(
      s, at,
      [&](std::int64_t i, double(&sums)[2]) {
        sums[0] += static_cast<double>(dy[i]);
        sums[1] += static_cast<double>(dy[i]) * static_cast<double>(y[i]);
      },
      means);
  if (!at.inside) return;
  const double factor = static_cast<double>(inverse[at.out]), mean = s.centred ? means[0] : 0.0;
  for (std::int64_t row = threadIdx.y; row < s.rows; row += cuda::kColumnsDown) {
    const std::int64_t i = at.first + row * s.width;
    const double gradient = norm_gradient(static_cast<double>(dy[i]), mean,
                                          static_cast<double>(y[i]), means[1], factor);
    cuda::put(dx, i, static_cast<Real>(gradient));
  }
}

dim3 blocks_for(const ColumnNormShape& s) {
  return {static_cast<unsigned>(s.groups), cuda::blocks_of(s.width, cuda::kColumnsAcross)};
}
dim3 block_threads() {
  return {cuda::kColumnsAcross, cuda::kColumnsDown};
}

}  // namespace

template <class Real>
void CudaDevice<Real>::column_norm_forward(const ColumnNormShape& s, const Real* x, Real* y,
                                           Real* inverse) {
  cuda::launch(queue_, "column_norm_forward", blocks_for(s), block_threads(),
               column_norm_forward_kernel<Real>, s, x, y, inverse);
}

template <class Real>
void CudaDevice<Real>::column_norm_backward(const ColumnNormShape& s, const Real* y,
                                            const Real* inverse, const Real* dy, Into<Real> dx) {
  if (!dx) return;
  cuda::launch(queue_, "column_norm_backward", blocks_for(s), block_threads(),
               column_norm_backward_kernel<Real>, s, y, inverse, dy, dx);
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
