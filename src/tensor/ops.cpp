#include "tensor/ops.hpp"

namespace scalecalc::tensor {

template <class Real>
Variable<Real> linear(Tape<Real>& tape, const Variable<Real>& x, const Variable<Real>& weight,
                      const Variable<Real>* bias) {
  const LinearShape shape{x.value.rows(), weight.value.rows(), weight.value.columns()};
  Tensor<Real> y = tape.make(shape.tokens, shape.fan_out);
  tape.device().linear_forward(shape, x.value.data(), weight.value.data(), y.data());
  const Variable<Real> b = bias != nullptr ? *bias : Variable<Real>{};
  if (bias != nullptr) {
    tape.device().bias_forward(shape.tokens, shape.fan_out, b.value.data(), y.data());
  }
  return tape.result(std::move(y), {&x, &weight, &b},
                     [shape, x, weight, db = b.slot](Tape<Real>& t, const Tensor<Real>& dy) {
                       Device<Real>& device = t.device();
                       if (Real* dx = t.gradient(x.slot)) {
                         device.linear_backward_input(shape, dy.data(), weight.value.data(), dx);
                       }
                       if (Real* dw = t.gradient(weight.slot)) {
                         device.linear_backward_weight(shape, x.value.data(), dy.data(), dw);
                       }
                       if (Real* dbias = t.gradient(db)) {
                         device.bias_backward(shape.tokens, shape.fan_out, dy.data(), dbias);
                       }
                     });
}

template <class Real>
Variable<Real> convolve(Tape<Real>& tape, const ConvShape& shape, const Variable<Real>& x,
                        const Variable<Real>& weight, const Variable<Real>* bias) {
  const std::int64_t rows = shape.images * shape.out_positions();
  Tensor<Real> y = tape.make(rows, shape.out_channels);
  tape.device().conv_forward(shape, x.value.data(), weight.value.data(), y.data());
  const Variable<Real> b = bias != nullptr ? *bias : Variable<Real>{};
  if (bias != nullptr) {
    tape.device().bias_forward(rows, shape.out_channels, b.value.data(), y.data());
  }
  return tape.result(std::move(y), {&x, &weight, &b},
                     [shape, x, weight, db = b.slot](Tape<Real>& t, const Tensor<Real>& dy) {
                       Device<Real>& device = t.device();
                       if (Real* dx = t.gradient(x.slot)) {
                         device.conv_backward_input(shape, dy.data(), weight.value.data(), dx);
                       }
                       if (Real* dw = t.gradient(weight.slot)) {
                         device.conv_backward_weight(shape, x.value.data(), dy.data(), dw);
                       }
                       if (Real* dbias = t.gradient(db)) {
                         device.bias_backward(dy.rows(), dy.columns(), dy.data(), dbias);
                       }
                     });
}

template <class Real>
Variable<Real> activate(Tape<Real>& tape, ActivationKind kind, const Variable<Real>& x) {
  Tensor<Real> y = tape.make(x.value.rows(), x.value.columns());
  tape.device().activation_forward(kind, y.size(), x.value.data(), y.data());
  return tape.result(std::move(y), {&x}, [kind, x](Tape<Real>& t, const Tensor<Real>& dy) {
    t.device().activation_backward(kind, dy.size(), x.value.data(), dy.data(), t.gradient(x.slot));
  });
}

template <class Real>
Variable<Real> activate(Tape<Real>& tape, const PointFunction& phi, const Variable<Real>& x) {
  if (!phi.expression) return activate(tape, phi.kind, x);
  const Activation function = *phi.expression;
  Tensor<Real> y = tape.make(x.value.rows(), x.value.columns());
  tape.device().function_forward(function, y.size(), x.value.data(), y.data());
  return tape.result(std::move(y), {&x}, [function, x](Tape<Real>& t, const Tensor<Real>& dy) {
    t.device().function_backward(function, dy.size(), x.value.data(), dy.data(),
                                 t.gradient(x.slot));
  });
}

template <class Real>
Variable<Real> multiply(Tape<Real>& tape, const Variable<Real>& a, const Variable<Real>& b) {
  Tensor<Real> y = tape.make(a.value.rows(), a.value.columns());
  tape.device().multiply_forward(y.size(), a.value.data(), b.value.data(), y.data());
  return tape.result(std::move(y), {&a, &b}, [a, b](Tape<Real>& t, const Tensor<Real>& dy) {
    t.device().multiply_backward(dy.size(), a.value.data(), b.value.data(), dy.data(),
                                 t.gradient(a.slot), t.gradient(b.slot));
  });
}

template <class Real>
Variable<Real> drop(Tape<Real>& tape, const Stream& mask, double rate, const Variable<Real>& x) {
  Tensor<Real> y = tape.make(x.value.rows(), x.value.columns());
  tape.device().dropout_forward(mask, rate, y.size(), x.value.data(), y.data());
  return tape.result(
      std::move(y), {&x}, [mask, rate, slot = x.slot](Tape<Real>& t, const Tensor<Real>& dy) {
        t.device().dropout_backward(mask, rate, dy.size(), dy.data(), t.gradient(slot));
      });
}

template <class Real>
Variable<Real> scale(Tape<Real>& tape, double a, const Variable<Real>& x) {
  Tensor<Real> y = tape.make(x.value.rows(), x.value.columns());
  tape.device().zero(y.data(), y.bytes());
  tape.device().scaled_backward(y.size(), a, x.value.data(), y.data());
  return tape.result(std::move(y), {&x}, [a, slot = x.slot](Tape<Real>& t, const Tensor<Real>& dy) {
    t.device().scaled_backward(dy.size(), a, dy.data(), t.gradient(slot));
  });
}

template <class Real>
Variable<Real> blend(Tape<Real>& tape, double a, const Variable<Real>& x, double b,
                     const Variable<Real>& f) {
  Tensor<Real> y = tape.make(x.value.rows(), x.value.columns());
  tape.device().blend_forward(y.size(), a, x.value.data(), b, f.value.data(), y.data());
  return tape.result(
      std::move(y), {&x, &f},
      [a, b, dx_slot = x.slot, df_slot = f.slot](Tape<Real>& t, const Tensor<Real>& dy) {
        if (Real* dx = t.gradient(dx_slot)) t.device().scaled_backward(dy.size(), a, dy.data(), dx);
        if (Real* df = t.gradient(df_slot)) t.device().scaled_backward(dy.size(), b, dy.data(), df);
      });
}

template <class Real>
Variable<Real> blend(Tape<Real>& tape, double a, const Variable<Real>& x, const Variable<Real>& b,
                     const Variable<Real>& f) {
  const void* host = tape.device().host(b.value.data(), b.value.bytes());
  const double weight = static_cast<double>(*static_cast<const Real*>(host));
  Tensor<Real> y = tape.make(x.value.rows(), x.value.columns());
  tape.device().blend_forward(y.size(), a, x.value.data(), weight, f.value.data(), y.data());
  return tape.result(
      std::move(y), {&x, &b, &f},
      [a, weight, dx_slot = x.slot, db_slot = b.slot, f](Tape<Real>& t, const Tensor<Real>& dy) {
        Device<Real>& device = t.device();
        if (Real* dx = t.gradient(dx_slot)) device.scaled_backward(dy.size(), a, dy.data(), dx);
        if (Real* df = t.gradient(f.slot)) device.scaled_backward(dy.size(), weight, dy.data(), df);
        if (Real* db = t.gradient(db_slot)) {
          const Real slope = static_cast<Real>(device.dot(dy.size(), dy.data(), f.value.data()));
          device.add_from_host(1, 1.0, &slope, db);
        }
      });
}

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a type.
#define SCALECALC_INSTANTIATE(Real)                                                                \
  template Variable<Real> linear(Tape<Real>&, const Variable<Real>&, const Variable<Real>&,        \
                                 const Variable<Real>*);                                           \
  template Variable<Real> convolve(Tape<Real>&, const ConvShape&, const Variable<Real>&,           \
                                   const Variable<Real>&, const Variable<Real>*);                  \
  template Variable<Real> activate(Tape<Real>&, ActivationKind, const Variable<Real>&);            \
  template Variable<Real> activate(Tape<Real>&, const PointFunction&, const Variable<Real>&);      \
  template Variable<Real> multiply(Tape<Real>&, const Variable<Real>&, const Variable<Real>&);     \
  template Variable<Real> drop(Tape<Real>&, const Stream&, double, const Variable<Real>&);         \
  template Variable<Real> scale(Tape<Real>&, double, const Variable<Real>&);                       \
  template Variable<Real> blend(Tape<Real>&, double, const Variable<Real>&, double,                \
                                const Variable<Real>&);                                            \
  template Variable<Real> blend(Tape<Real>&, double, const Variable<Real>&, const Variable<Real>&, \
                                const Variable<Real>&);
// NOLINTEND(bugprone-macro-parentheses)
SCALECALC_INSTANTIATE(float)
SCALECALC_INSTANTIATE(double)

}  // namespace scalecalc::tensor
