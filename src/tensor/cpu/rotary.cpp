#include "tensor/rotary_rule.hpp"

#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/parallel.hpp"

namespace scalecalc::tensor {
namespace {

template <class Real, class Write>
void turn_all(int threads, const RotaryShape& s, const Real* turns, Real direction, const Real* x,
              const Write& write) {
  for_tiles(threads, s.tokens, [&](std::int64_t position) {
    for (std::int64_t column = 0; column < rotary_columns(s); ++column)
      turn_column(s, turns, direction, position, column, x, write);
  });
}

}  // namespace

template <class Real>
void CpuDevice<Real>::rotary_forward(const RotaryShape& s, const Real* turns, const Real* x,
                                     Real* y) {
  turn_all(threads_, s, turns, Real(1), x, [y](std::int64_t i, Real value) { y[i] = value; });
}

template <class Real>
void CpuDevice<Real>::rotary_backward(const RotaryShape& s, const Real* turns, const Real* dy,
                                      Into<Real> dx) {
  turn_all(threads_, s, turns, Real(-1), dy,
           [dx](std::int64_t i, Real value) { dx.data[i] = dx(i, value); });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
