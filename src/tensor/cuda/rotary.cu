#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/grid.cuh"
#include "tensor/rotary_rule.hpp"

namespace scalecalc::tensor {
namespace {

template <class Real>
struct Put {
  Into<Real> into;
  SCALECALC_DEVICE void operator()(std::int64_t i, Real value) const { cuda::put(into, i, value); }
};

template <class Real>
struct TurnColumn {
  RotaryShape s;
  const Real* turns;
  Real direction;
  const Real* x;
  Put<Real> put;
  SCALECALC_DEVICE void operator()(std::int64_t position, std::int64_t column) const {
    turn_column(s, turns, direction, position, column, x, put);
  }
};

}  // namespace

template <class Real>
void CudaDevice<Real>::rotary_forward(const RotaryShape& s, const Real* turns, const Real* x,
                                      Real* y) {
  cuda::for_rows(queue_, "rotary_forward", s.tokens, rotary_columns(s),
                 TurnColumn<Real>{s, turns, Real(1), x, {{y, false}}});
}

template <class Real>
void CudaDevice<Real>::rotary_backward(const RotaryShape& s, const Real* turns, const Real* dy,
                                       Into<Real> dx) {
  cuda::for_rows(queue_, "rotary_backward", s.tokens, rotary_columns(s),
                 TurnColumn<Real>{s, turns, Real(-1), dy, {dx}});
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
