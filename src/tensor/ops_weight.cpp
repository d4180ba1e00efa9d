#include <cmath>
#include <memory>
#include <vector>

#include "tensor/ops.hpp"
#include "tensor/singular.hpp"

namespace scalecalc::tensor {
namespace {

template <class Real>
std::vector<double> on_host(Device<Real>& device, const Tensor<Real>& tensor) {
  const auto* data = static_cast<const Real*>(device.host(tensor.data(), tensor.bytes()));
  return {data, data + tensor.size()};
}

/// dw = (dy - <dy, y> left right^T) / value, with y = w / value and d value = left^T dw right.
template <class Real>
std::vector<Real> spectral_gradient(const std::vector<double>& y, const std::vector<double>& dy,
                                    const TopSingular& top) {
  double along = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) along += dy[i] * y[i];
  std::vector<Real> dw(y.size());
  const std::size_t columns = top.right.size();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double outer = top.left[i / columns] * top.right[i % columns];
    dw[i] = static_cast<Real>((dy[i] - along * outer) / top.value);
  }
  return dw;
}

}  // namespace

template <class Real>
Variable<Real> spectral(Tape<Real>& tape, const Variable<Real>& w) {
  const std::vector<double> entries = on_host(tape.device(), w.value);
  const auto top = std::make_shared<const TopSingular>(
      top_singular(entries.data(), w.value.rows(), w.value.columns()));
  if (top->value == 0.0) return scale(tape, 0.0, w);
  Tensor<Real> y = scale(tape, 1.0 / top->value, tape.constant(w.value)).value;
  return tape.result(y, {&w}, [y, top, slot = w.slot](Tape<Real>& t, const Tensor<Real>& dy) {
    const std::vector<double> value = on_host(t.device(), y), slope = on_host(t.device(), dy);
    const std::vector<Real> dw = spectral_gradient<Real>(value, slope, *top);
    t.device().add_from_host(dy.size(), 1.0, dw.data(), t.gradient(slot));
  });
}

// A column's length is sqrt(rows) times its root mean square.
template <class Real>
Variable<Real> demodulate(Tape<Real>& tape, const Variable<Real>& w) {
  const std::int64_t rows = w.value.rows();
  return scale(tape, 1.0 / std::sqrt(static_cast<double>(rows)),
               normalise_columns(tape, false, 0.0, w, rows));
}

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a type.
#define SCALECALC_INSTANTIATE(Real)                                     \
  template Variable<Real> spectral(Tape<Real>&, const Variable<Real>&); \
  template Variable<Real> demodulate(Tape<Real>&, const Variable<Real>&);
// NOLINTEND(bugprone-macro-parentheses)
SCALECALC_INSTANTIATE(float)
SCALECALC_INSTANTIATE(double)
#undef SCALECALC_INSTANTIATE

}  // namespace scalecalc::tensor
