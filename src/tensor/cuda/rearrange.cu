#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/grid.cuh"
#include "tensor/rearrange_index.hpp"

namespace scalecalc::tensor {
namespace {

template <class Real>
struct Mirror {
  ConvShape s;
  const Real* w;
  Into<Real> mirrored;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t column) const {
    cuda::put(mirrored, row * s.in_channels + column, w[mirrored_entry(s, row, column)]);
  }
};

/// Rows are output positions of one image after the other.
template <class Real>
struct CopyPositions {
  UpsampleShape s;
  const Real* x;
  Real* y;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t channel) const {
    y[row * s.channels + channel] = x[copied_row(s, row) * s.channels + channel];
  }
};

/// Rows are input positions.
template <class Real>
struct SumCopies {
  UpsampleShape s;
  const Real* dy;
  Into<Real> dx;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t channel) const {
    cuda::put(dx, row * s.channels + channel, sum_of_copies(s, row, channel, dy));
  }
};

template <class Real>
struct SideBySide {
  ConcatShape s;
  const Real* a;
  const Real* b;
  Real* y;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t column) const {
    y[row * (s.left + s.right) + column] =
        column < s.left ? a[row * s.left + column] : b[row * s.right + column - s.left];
  }
};

/// `count` columns from `first` on.
template <class Real>
struct TakeColumns {
  std::int64_t width, first, count;
  const Real* dy;
  Into<Real> to;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t column) const {
    cuda::put(to, row * count + column, dy[row * width + first + column]);
  }
};

}  // namespace

template <class Real>
void CudaDevice<Real>::mirror_kernel(const ConvShape& s, const Real* w, Into<Real> mirrored) {
  if (!mirrored) return;
  cuda::for_rows(queue_, "mirror_kernel", s.taps() * s.group_out(), s.in_channels,
                 Mirror<Real>{s, w, mirrored});
}

template <class Real>
void CudaDevice<Real>::upsample_forward(const UpsampleShape& s, const Real* x, Real* y) {
  cuda::for_rows(queue_, "upsample_forward", s.images * s.out_positions(), s.channels,
                 CopyPositions<Real>{s, x, y});
}

template <class Real>
void CudaDevice<Real>::upsample_backward(const UpsampleShape& s, const Real* dy, Into<Real> dx) {
  if (!dx) return;
  cuda::for_rows(queue_, "upsample_backward", s.images * s.positions(), s.channels,
                 SumCopies<Real>{s, dy, dx});
}

template <class Real>
void CudaDevice<Real>::concat_forward(const ConcatShape& s, const Real* a, const Real* b, Real* y) {
  cuda::for_rows(queue_, "concat_forward", s.rows, s.left + s.right, SideBySide<Real>{s, a, b, y});
}

template <class Real>
void CudaDevice<Real>::concat_backward(const ConcatShape& s, const Real* dy, Into<Real> da,
                                       Into<Real> db) {
  const std::int64_t width = s.left + s.right;
  if (da)
    cuda::for_rows(queue_, "concat_backward", s.rows, s.left,
                   TakeColumns<Real>{width, 0, s.left, dy, da});
  if (db)
    cuda::for_rows(queue_, "concat_backward", s.rows, s.right,
                   TakeColumns<Real>{width, s.left, s.right, dy, db});
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
