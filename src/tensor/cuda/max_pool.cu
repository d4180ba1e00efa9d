#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/grid.cuh"
#include "tensor/max_pool_rule.hpp"

namespace scalecalc::tensor {
namespace {

/// Rows are output positions of one image after the other.
template <class Real>
struct Largest {
  ConvShape s;
  const Real* x;
  Real* y;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t channel) const {
    const std::int64_t image = row / s.out_positions(), channels = s.in_channels;
    const Real* from = x + image * s.positions() * channels + channel;
    const std::int64_t at = largest_position(s, row % s.out_positions(), from, channels);
    y[row * channels + channel] = from[at * channels];
  }
};

/// Rows are input positions.
template <class Real>
struct BackToLargest {
  ConvShape s;
  const Real* x;
  const Real* dy;
  Into<Real> dx;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t channel) const {
    const std::int64_t image = row / s.positions(), channels = s.in_channels;
    const Real* from = x + image * s.positions() * channels + channel;
    const Real* back = dy + image * s.out_positions() * channels + channel;
    cuda::put(dx, row * channels + channel, back_to(s, row % s.positions(), from, back, channels));
  }
};

}  // namespace

template <class Real>
void CudaDevice<Real>::max_pool_forward(const ConvShape& s, const Real* x, Real* y) {
  cuda::for_rows(queue_, "max_pool_forward", s.images * s.out_positions(), s.in_channels,
                 Largest<Real>{s, x, y});
}

template <class Real>
void CudaDevice<Real>::max_pool_backward(const ConvShape& s, const Real* x, const Real* dy,
                                         Into<Real> dx) {
  if (!dx) return;
  cuda::for_rows(queue_, "max_pool_backward", s.images * s.positions(), s.in_channels,
                 BackToLargest<Real>{s, x, dy, dx});
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
