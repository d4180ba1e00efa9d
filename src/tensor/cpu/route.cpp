#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/route_rule.hpp"

namespace scalecalc::tensor {
template <class Real>
void CpuDevice<Real>::route_forward(const RouteShape& s, const Real* scores, Real* weights) {
  for_rows(threads_, s.tokens, s.experts * s.experts,
           [&](std::int64_t t) { route_row(s, scores + t * s.experts, weights + t * s.experts); });
}

template <class Real>
void CpuDevice<Real>::route_backward(const RouteShape& s, const Real* scores, const Real* weights,
                                     const Real* dweights, Into<Real> dscores) {
  for_rows(threads_, s.tokens, s.experts * s.experts, [&](std::int64_t t) {
    const std::int64_t first = t * s.experts;
    route_row_backward(s, scores + first, weights + first, dweights + first, dscores, first);
  });
}

template <class Real>
void CpuDevice<Real>::weigh_rows_forward(const RowsShape& s, const Real* x, const Real* w,
                                         Real* y) {
  for_rows(threads_, s.rows, s.width, [&](std::int64_t t) {
    for (std::int64_t i = t * s.width; i < (t + 1) * s.width; ++i) y[i] = w[t * s.stride] * x[i];
  });
}

template <class Real>
void CpuDevice<Real>::weigh_rows_backward(const RowsShape& s, const Real* x, const Real* w,
                                          const Real* dy, Into<Real> dx, Into<Real> dw) {
  for_rows(threads_, s.rows, s.width, [&](std::int64_t t) {
    const std::int64_t begin = t * s.width, end = begin + s.width;
    if (dx)
      for (std::int64_t i = begin; i < end; ++i) dx.data[i] = dx(i, w[t * s.stride] * dy[i]);
    if (!dw) return;
    Real sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += x[i] * dy[i];
    dw.data[t * s.stride] = dw(t * s.stride, sum);
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
