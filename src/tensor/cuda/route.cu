#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/grid.cuh"
#include "tensor/route_rule.hpp"

namespace scalecalc::tensor {
namespace {

template <class Real>
struct Route {
  RouteShape s;
  const Real* scores;
  Real* weights;
  SCALECALC_DEVICE void operator()(std::int64_t t) const {
    route_row(s, scores + t * s.experts, weights + t * s.experts);
  }
};

template <class Real>
struct RouteBack {
  RouteShape s;
  const Real *scores, *weights, *dweights;
  Into<Real> dscores;
  SCALECALC_DEVICE void operator()(std::int64_t t) const {
    const std::int64_t first = t * s.experts;
    route_row_backward(s, scores + first, weights + first, dweights + first, dscores, first);
  }
};

template <class Real>
struct WeighRow {
  RowsShape s;
  const Real *x, *w;
  Into<Real> y;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = row * s.width + column;
    cuda::put(y, i, w[row * s.stride] * x[i]);
  }
};

template <class Real>
struct RowProduct {
  RowsShape s;
  const Real *x, *dy;
  Into<Real> dw;
  SCALECALC_DEVICE void operator()(std::int64_t row) const {
    Real sum = 0;
    for (std::int64_t i = row * s.width; i < (row + 1) * s.width; ++i) sum += x[i] * dy[i];
    cuda::put(dw, row * s.stride, sum);
  }
};

}  // namespace

template <class Real>
void CudaDevice<Real>::route_forward(const RouteShape& s, const Real* scores, Real* weights) {
  cuda::for_entries(queue_, "route_forward", s.tokens, Route<Real>{s, scores, weights});
}

template <class Real>
void CudaDevice<Real>::route_backward(const RouteShape& s, const Real* scores, const Real* weights,
                                      const Real* dweights, Into<Real> dscores) {
  cuda::for_entries(queue_, "route_backward", s.tokens,
                    RouteBack<Real>{s, scores, weights, dweights, dscores});
}

template <class Real>
void CudaDevice<Real>::weigh_rows_forward(const RowsShape& s, const Real* x, const Real* w,
                                          Real* y) {
  cuda::for_rows(queue_, "weigh_rows_forward", s.rows, s.width,
                 WeighRow<Real>{s, x, w, {y, false}});
}

template <class Real>
void CudaDevice<Real>::weigh_rows_backward(const RowsShape& s, const Real* x, const Real* w,
                                           const Real* dy, Into<Real> dx, Into<Real> dw) {
  if (dx)
    cuda::for_rows(queue_, "weigh_rows_backward", s.rows, s.width, WeighRow<Real>{s, dy, w, dx});
  if (dw) cuda::for_entries(queue_, "weigh_rows_backward", s.rows, RowProduct<Real>{s, x, dy, dw});
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
