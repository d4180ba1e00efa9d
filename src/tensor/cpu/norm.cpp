#include <cmath>

#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/matrix.hpp"
#include "tensor/cpu/parallel.hpp"

namespace scalecalc::tensor {

template <class Real>
void CpuDevice<Real>::norm_forward(const NormShape& s, const Real* x, Real* y, Real* inverse) {
  for_ranges(threads_, s.tokens, rows_per_tile(s.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const ConstRowMap<Real> in(x + t * s.width, s.width);
      RowMap<Real> out(y + t * s.width, s.width);
      if (s.centred) {
        out = in - in.mean();
      } else {
        out = in;
      }
      const Real power = out.square().mean() + static_cast<Real>(s.eps);
      inverse[t] = power > Real(0) ? Real(1) / std::sqrt(power) : power;
      out *= inverse[t];
    }
  });
}

// With y = (x - mean) c, c = (variance + eps)^(-1/2):
// dx_i = c (dy_i - mean(dy) - y_i mean(dy y)); rms norm has no mean(dy).
template <class Real>
void CpuDevice<Real>::norm_backward(const NormShape& s, const Real* y, const Real* inverse,
                                    const Real* dy, Real* dx) {
  for_ranges(threads_, s.tokens, rows_per_tile(s.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const ConstRowMap<Real> out(y + t * s.width, s.width), dout(dy + t * s.width, s.width);
      RowMap<Real> din(dx + t * s.width, s.width);
      const Real along = (dout * out).mean();
      const Real mean = s.centred ? dout.mean() : Real(0);
      din += inverse[t] * (dout - mean - out * along);
    }
  });
}

template <class Real>
void CpuDevice<Real>::affine_forward(std::int64_t tokens, std::int64_t width, const Real* x,
                                     const Real* gain, const Real* shift, Real* y) {
  for_ranges(threads_, tokens, rows_per_tile(width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      for (std::int64_t i = 0; i < width; ++i) {
        y[t * width + i] = gain[i] * x[t * width + i] + shift[i];
      }
    }
  });
}

template <class Real>
void CpuDevice<Real>::affine_backward(std::int64_t tokens, std::int64_t width, const Real* x,
                                      const Real* gain, const Real* dy, Real* dx, Real* dgain,
                                      Real* dshift) {
  constexpr std::int64_t kColumns = 256;
  for_ranges(threads_, width, kColumns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      const std::int64_t row = t * width;
      for (std::int64_t i = begin; i < end; ++i) {
        dgain[i] += dy[row + i] * x[row + i];
        dshift[i] += dy[row + i];
      }
      if (dx == nullptr) continue;
      for (std::int64_t i = begin; i < end; ++i) dx[row + i] += gain[i] * dy[row + i];
    }
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a type.
#define SCALECALC_INSTANTIATE(Real)                                                         \
  template void CpuDevice<Real>::norm_forward(const NormShape&, const Real*, Real*, Real*); \
  template void CpuDevice<Real>::norm_backward(const NormShape&, const Real*, const Real*,  \
                                               const Real*, Real*);                         \
  template void CpuDevice<Real>::affine_forward(std::int64_t, std::int64_t, const Real*,    \
                                                const Real*, const Real*, Real*);           \
  template void CpuDevice<Real>::affine_backward(std::int64_t, std::int64_t, const Real*,   \
                                                 const Real*, const Real*, Real*, Real*, Real*);
// NOLINTEND(bugprone-macro-parentheses)
SCALECALC_INSTANTIATE(float)
SCALECALC_INSTANTIATE(double)

}  // namespace scalecalc::tensor
