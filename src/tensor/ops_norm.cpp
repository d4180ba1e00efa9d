#include "tensor/ops.hpp"

namespace scalecalc::tensor {

template <class Real>
Variable<Real> normalise(Tape<Real>& tape, bool centred, double eps, const Variable<Real>& x,
                         std::int64_t width) {
  if (width == 0) width = x.value.columns();
  const NormShape shape{x.value.size() / width, width, centred, eps};
  Tensor<Real> y = tape.make(x.value.rows(), x.value.columns());
  Tensor<Real> inverse = tape.make(shape.tokens, 1);
  tape.device().norm_forward(shape, x.value.data(), y.data(), inverse.data());
  return tape.result(
      y, {&x}, [shape, y, inverse, dx_slot = x.slot](Tape<Real>& t, const Tensor<Real>& dy) {
        t.device().norm_backward(shape, y.data(), inverse.data(), dy.data(), t.into(dx_slot));
      });
}

template <class Real>
Variable<Real> blend_normalised(Tape<Real>& tape, bool centred, double eps, double a,
                                const Variable<Real>& x, double b, const Variable<Real>& f) {
  const NormShape shape{x.value.rows(), x.value.columns(), centred, eps};
  Tensor<Real> y = tape.make(shape.tokens, shape.width), inverse = tape.make(shape.tokens, 1);
  tape.device().blend_norm_forward(shape, a, x.value.data(), b, f.value.data(), y.data(),
                                   inverse.data());
  return tape.result(y, {&x, &f},
                     [shape, a, b, y, inverse, dx_slot = x.slot, df_slot = f.slot](
                         Tape<Real>& t, const Tensor<Real>& dy) {
                       const Into<Real> dx = t.into(dx_slot), df = t.into(df_slot);
                       t.device().blend_norm_backward(shape, y.data(), inverse.data(), dy.data(), a,
                                                      dx, b, df);
                     });
}

template <class Real>
Variable<Real> normalise_columns(Tape<Real>& tape, bool centred, double eps,
                                 const Variable<Real>& x, std::int64_t rows) {
  const ColumnNormShape shape{x.value.rows() / rows, rows, x.value.columns(), centred, eps};
  Tensor<Real> y = tape.make(x.value.rows(), x.value.columns());
  Tensor<Real> inverse = tape.make(shape.groups, shape.width);
  tape.device().column_norm_forward(shape, x.value.data(), y.data(), inverse.data());
  return tape.result(y, {&x},
                     [shape, y, inverse, dx_slot = x.slot](Tape<Real>& t, const Tensor<Real>& dy) {
                       t.device().column_norm_backward(shape, y.data(), inverse.data(), dy.data(),
                                                       t.into(dx_slot));
                     });
}

template <class Real>
Variable<Real> affine(Tape<Real>& tape, const Variable<Real>& x, const Variable<Real>& gain,
                      const Variable<Real>& shift) {
  const std::int64_t tokens = x.value.rows(), width = x.value.columns();
  Tensor<Real> y = tape.make(tokens, width);
  tape.device().affine_forward(tokens, width, x.value.data(), gain.value.data(), shift.value.data(),
                               y.data());
  return tape.result(
      std::move(y), {&x, &gain, &shift}, [x, gain, shift](Tape<Real>& t, const Tensor<Real>& dy) {
        const Into<Real> dx = t.into(x.slot), dgain = t.into(gain.slot);
        t.device().affine_backward(dy.rows(), dy.columns(), x.value.data(), gain.value.data(),
                                   dy.data(), dx, dgain, t.into(shift.slot));
      });
}

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a type.
#define SCALECALC_INSTANTIATE(Real)                                                               \
  template Variable<Real> normalise(Tape<Real>&, bool, double, const Variable<Real>&,             \
                                    std::int64_t);                                                \
  template Variable<Real> blend_normalised(Tape<Real>&, bool, double, double,                     \
                                           const Variable<Real>&, double, const Variable<Real>&); \
  template Variable<Real> normalise_columns(Tape<Real>&, bool, double, const Variable<Real>&,     \
                                            std::int64_t);                                        \
  template Variable<Real> affine(Tape<Real>&, const Variable<Real>&, const Variable<Real>&,       \
                                 const Variable<Real>&);
// NOLINTEND(bugprone-macro-parentheses)
SCALECALC_INSTANTIATE(float)
SCALECALC_INSTANTIATE(double)
#undef SCALECALC_INSTANTIATE

}  // namespace scalecalc::tensor
