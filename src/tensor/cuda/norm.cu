#include <type_traits>

#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/grid.cuh"
#include "tensor/cuda/reduce.cuh"
#include "tensor/norm_rule.hpp"

// One block a row. A row of up to 256 Items entries is read once and stays in registers; Items = 0
// reads a longer one again for each pass.
namespace scalecalc::tensor {
namespace {

template <class Real>
struct Plain {
  const Real* x;
  SCALECALC_DEVICE Real operator()(std::int64_t i) const { return x[i]; }
};

template <class Real>
struct Blended {
  Real a, b;
  const Real *x, *f;
  SCALECALC_DEVICE Real operator()(std::int64_t i) const { return a * x[i] + b * f[i]; }
};

template <class Real, int Items, class Load>
class Row {
 public:
  SCALECALC_DEVICE Row(const Load& load, std::int64_t first, int width)
      : load_(load), first_(first), width_(width) {
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const int i = threadIdx.x + k * blockDim.x;
      kept_[k] = i < width_ ? load_(first_ + i) : Real(0);
    }
  }
  /// body(place in the matrix, value) for this thread's entries of the row.
  template <class Body>
  SCALECALC_DEVICE void each(const Body& body) const {
    if constexpr (Items > 0) {
#pragma unroll
      for (int k = 0; k < Items; ++k) {
        const int i = threadIdx.x + k * blockDim.x;
        if (i < width_) body(first_ + i, kept_[k]);
      }
    } else {
      for (int i = threadIdx.x; i < width_; i += blockDim.x) body(first_ + i, load_(first_ + i));
    }
  }

 private:
  Load load_;
  std::int64_t first_;
  int width_;
  Real kept_[Items > 0 ? Items : 1] = {};
};

// Distances from the first entry: those of a constant row are exactly 0.
template <class Real, int Items, class Load>
SCALECALC_KERNEL norm_forward_kernel(Load load, int width, bool centred, Real eps, Real* y,
                                     Real* inverse) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * width;
  const Row<Real, Items, Load> row(load, first, width);
  Real mean = 0;
  if (centred) {
    const Real base = load(first);
    Real sum = 0;
    row.each([&](std::int64_t, Real x) { sum += x - base; });
    mean = base + cuda::block_sum(sum) / static_cast<Real>(width);
  }
  Real square = 0;
  row.each([&](std::int64_t, Real x) { square += (x - mean) * (x - mean); });
  const Real factor = norm_factor(cuda::block_sum(square) / static_cast<Real>(width) + eps);
  if (threadIdx.x == 0) inverse[blockIdx.x] = factor;
  row.each([&](std::int64_t at, Real x) { y[at] = normalised(x, mean, factor); });
}

template <class Real, int Items>
SCALECALC_KERNEL norm_backward_kernel(int width, bool centred, const Real* y, const Real* inverse,
                                      const Real* dy, Real a, Into<Real> dx, Real b,
                                      Into<Real> df) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * width;
  const Plain<Real> load{dy};
  const Row<Real, Items, Plain<Real>> row(load, first, width);
  Real sums[2] = {0, 0};  // of dy and of dy y
  row.each([&](std::int64_t at, Real d) {
    sums[0] += d;
    sums[1] += d * y[at];
  });
  cuda::block_sums(sums);
  const Real mean = centred ? sums[0] / static_cast<Real>(width) : Real(0);
  const Real along = sums[1] / static_cast<Real>(width);
  const Real factor = inverse[blockIdx.x];
  row.each([&](std::int64_t at, Real d) {
    const Real gradient = norm_gradient(d, mean, y[at], along, factor);
    if (dx.data != nullptr) cuda::put(dx, at, a * gradient);
    if (df.data != nullptr) cuda::put(df, at, b * gradient);
  });
}

/// body(integral constant with the Items that a row of this width takes).
template <class Body>
void with_items(std::int64_t width, const Body& body) {
  const std::int64_t items = cuda::pieces(width, cuda::row_threads(width));
  if (items <= 1) return body(std::integral_constant<int, 1>{});
  if (items <= 4) return body(std::integral_constant<int, 4>{});
  if (items <= 16) return body(std::integral_constant<int, 16>{});
  body(std::integral_constant<int, 0>{});
}

template <class Real, class Load>
void norm_rows(const cuda::Queue& queue, const char* operation, const NormShape& s,
               const Load& load, Real* y, Real* inverse) {
  with_items(s.width, [&](auto items) {
    cuda::launch(queue, operation, dim3(static_cast<unsigned>(s.tokens)),
                 dim3(cuda::row_threads(s.width)),
                 norm_forward_kernel<Real, decltype(items)::value, Load>, load,
                 static_cast<int>(s.width), s.centred, static_cast<Real>(s.eps), y, inverse);
  });
}

}  // namespace

template <class Real>
void CudaDevice<Real>::norm_forward(const NormShape& s, const Real* x, Real* y, Real* inverse) {
  norm_rows(queue_, "norm_forward", s, Plain<Real>{x}, y, inverse);
}

template <class Real>
void CudaDevice<Real>::blend_norm_forward(const NormShape& s, double a, const Real* x, double b,
                                          const Real* f, Real* y, Real* inverse) {
  norm_rows(queue_, "blend_norm_forward", s,
            Blended<Real>{static_cast<Real>(a), static_cast<Real>(b), x, f}, y, inverse);
}

template <class Real>
void CudaDevice<Real>::norm_backward(const NormShape& s, const Real* y, const Real* inverse,
                                     const Real* dy, Into<Real> dx) {
  blend_norm_backward(s, y, inverse, dy, 1.0, dx, 0.0, {});
}

template <class Real>
void CudaDevice<Real>::blend_norm_backward(const NormShape& s, const Real* y, const Real* inverse,
                                           const Real* dy, double a, Into<Real> dx, double b,
                                           Into<Real> df) {
  if (!dx && !df) return;
  with_items(s.width, [&](auto items) {
    cuda::launch(queue_, "norm_backward", dim3(static_cast<unsigned>(s.tokens)),
                 dim3(cuda::row_threads(s.width)),
                 norm_backward_kernel<Real, decltype(items)::value>, static_cast<int>(s.width),
                 s.centred, y, inverse, dy, static_cast<Real>(a), dx, static_cast<Real>(b), df);
  });
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
