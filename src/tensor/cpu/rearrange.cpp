#include <algorithm>

#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/rearrange_index.hpp"

namespace scalecalc::tensor {

template <class Real>
void CpuDevice<Real>::mirror_kernel(const ConvShape& s, const Real* w, Into<Real> mirrored) {
  const std::int64_t columns = s.in_channels;
  for_tiles(threads_, s.taps() * s.group_out(), [&](std::int64_t row) {
    for (std::int64_t i = 0; i < columns; ++i)
      mirrored.data[row * columns + i] = mirrored(row * columns + i, w[mirrored_entry(s, row, i)]);
  });
}

template <class Real>
void CpuDevice<Real>::upsample_forward(const UpsampleShape& s, const Real* x, Real* y) {
  for_tiles(threads_, s.images * s.out_positions(), [&](std::int64_t row) {
    const Real* from = x + copied_row(s, row) * s.channels;
    std::copy(from, from + s.channels, y + row * s.channels);
  });
}

template <class Real>
void CpuDevice<Real>::upsample_backward(const UpsampleShape& s, const Real* dy, Into<Real> dx) {
  for_tiles(threads_, s.images * s.positions(), [&](std::int64_t row) {
    for (std::int64_t i = 0; i < s.channels; ++i)
      dx.data[row * s.channels + i] = dx(row * s.channels + i, sum_of_copies(s, row, i, dy));
  });
}

template <class Real>
void CpuDevice<Real>::concat_forward(const ConcatShape& s, const Real* a, const Real* b, Real* y) {
  const std::int64_t width = s.left + s.right;
  for_tiles(threads_, s.rows, [&](std::int64_t row) {
    std::copy_n(a + row * s.left, s.left, y + row * width);
    std::copy_n(b + row * s.right, s.right, y + row * width + s.left);
  });
}

template <class Real>
void CpuDevice<Real>::concat_backward(const ConcatShape& s, const Real* dy, Into<Real> da,
                                      Into<Real> db) {
  const std::int64_t width = s.left + s.right;
  const auto share = [&](std::int64_t row, std::int64_t first, std::int64_t count,
                         const Into<Real>& to) {
    if (!to) return;
    for (std::int64_t i = 0; i < count; ++i)
      to.data[row * count + i] = to(row * count + i, dy[row * width + first + i]);
  };
  for_tiles(threads_, s.rows, [&](std::int64_t row) {
    share(row, 0, s.left, da);
    share(row, s.left, s.right, db);
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
