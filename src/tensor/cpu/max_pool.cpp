#include "tensor/max_pool_rule.hpp"

#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/parallel.hpp"

namespace scalecalc::tensor {

template <class Real>
void CpuDevice<Real>::max_pool_forward(const ConvShape& s, const Real* x, Real* y) {
  const std::int64_t rows = s.out_positions(), channels = s.in_channels;
  for_tiles(threads_, s.images * rows, [&](std::int64_t row) {
    const std::int64_t image = row / rows;
    const Real* from = x + image * s.positions() * channels;
    for (std::int64_t i = 0; i < channels; ++i) {
      const std::int64_t at = largest_position(s, row % rows, from + i, channels);
      y[row * channels + i] = from[at * channels + i];
    }
  });
}

template <class Real>
void CpuDevice<Real>::max_pool_backward(const ConvShape& s, const Real* x, const Real* dy,
                                        Into<Real> dx) {
  const std::int64_t rows = s.positions(), channels = s.in_channels;
  for_tiles(threads_, s.images * rows, [&](std::int64_t row) {
    const std::int64_t image = row / rows;
    const Real* from = x + image * rows * channels;
    const Real* back = dy + image * s.out_positions() * channels;
    for (std::int64_t i = 0; i < channels; ++i)
      dx.data[row * channels + i] =
          dx(row * channels + i, back_to(s, row % rows, from + i, back + i, channels));
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
