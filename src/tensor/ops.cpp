#include "tensor/ops.hpp"

namespace scalecalc::tensor {

namespace {

/// Appends the backward of x w + bias, whose value is y.
template <class Real>
Variable<Real> record_linear(Tape<Real>& tape, const LinearShape& shape, Tensor<Real> y,
                             const Variable<Real>& x, const Variable<Real>& weight,
                             const Variable<Real>* bias) {
  const Variable<Real> b = bias != nullptr ? *bias : Variable<Real>{};
  return tape.result(std::move(y), {&x, &weight, &b},
                     [shape, slot = x.slot, x = Kept(x), weight, db = b.slot](
                         Tape<Real>& t, const Tensor<Real>& dy) {
                       Device<Real>& device = t.device();
                       if (const auto dw = t.into(weight.slot)) {
                         const Tensor<Real> input = x.value(t);
                         device.linear_backward_weight(shape, input.data(), dy.data(), dw);
                       }
                       if (const auto dbias = t.into(db)) {
                         device.bias_backward(shape.tokens, shape.fan_out, dy.data(), dbias);
                       }
                       if (const auto dx = t.into(slot)) {
                         device.linear_backward_input(shape, dy.data(), weight.value.data(), dx);
                       }
                     });
}

template <class Real>
LinearShape shape_of(const Variable<Real>& x, const Variable<Real>& weight) {
  return {x.value.rows(), weight.value.rows(), weight.value.columns()};
}
template <class Real>
const Real* data_of(const Variable<Real>* optional) {
  return optional != nullptr ? optional->value.data() : nullptr;
}

/// Appends the backward of phi(x), whose value is y.
template <class Real>
Variable<Real> record_activation(Tape<Real>& tape, const PointFunction& phi, Tensor<Real> y,
                                 const Variable<Real>& x) {
  Variable<Real> made =
      tape.result(std::move(y), {&x}, [&phi, x](Tape<Real>& t, const Tensor<Real>& dy) {
        const Into<Real> dx = t.into(x.slot);
        if (phi.expression) {
          t.device().function_backward(*phi.expression, dy.size(), x.value.data(), dy.data(), dx);
        } else {
          t.device().activation_backward(phi.kind, dy.size(), x.value.data(), dy.data(), dx);
        }
      });
  if (made.slot >= 0) {
    made.phi = &phi;
    made.source = x.value;
  }
  return made;
}

}  // namespace

template <class Real>
Variable<Real> linear(Tape<Real>& tape, const Variable<Real>& x, const Variable<Real>& weight,
                      const Variable<Real>* bias) {
  const LinearShape shape = shape_of(x, weight);
  Tensor<Real> y = tape.make(shape.tokens, shape.fan_out);
  tape.device().linear_forward(shape, x.value.data(), weight.value.data(), data_of(bias), y.data());
  return record_linear(tape, shape, std::move(y), x, weight, bias);
}

/// The backward of dx = dy w^T, with x and y in the places of dy and dx.
template <class Real>
Variable<Real> linear_by_rows(Tape<Real>& tape, const Variable<Real>& x,
                              const Variable<Real>& table, const Variable<Real>* bias) {
  const LinearShape shape = shape_of(x, table);
  Tensor<Real> y = tape.make(shape.tokens, shape.fan_in);
  tape.device().linear_backward_input(shape, x.value.data(), table.value.data(), {y.data(), false});
  if (bias != nullptr)
    tape.device().bias_forward(shape.tokens, shape.fan_in, bias->value.data(), y.data());
  const Variable<Real> b = bias != nullptr ? *bias : Variable<Real>{};
  return tape.result(std::move(y), {&x, &table, &b},
                     [shape, slot = x.slot, x = Kept(x), table, db = b.slot](
                         Tape<Real>& t, const Tensor<Real>& dy) {
                       Device<Real>& device = t.device();
                       if (const auto rows = t.into(table.slot)) {
                         const Tensor<Real> input = x.value(t);
                         device.linear_backward_weight(shape, dy.data(), input.data(), rows);
                       }
                       if (const auto dbias = t.into(db)) {
                         device.bias_backward(shape.tokens, shape.fan_in, dy.data(), dbias);
                       }
                       if (const auto dx = t.into(slot)) {
                         const Tensor<Real> made = t.make(shape.tokens, shape.fan_out);
                         device.linear_forward(shape, dy.data(), table.value.data(), nullptr,
                                               made.data());
                         device.scaled_backward(made.size(), 1.0, made.data(), dx);
                       }
                     });
}

template <class Real>
Activated<Real> linear_activated(Tape<Real>& tape, const PointFunction& phi,
                                 const Variable<Real>& x, const Variable<Real>& weight,
                                 const Variable<Real>* bias) {
  if (phi.expression) {
    const Variable<Real> before = linear(tape, x, weight, bias);
    return {before, activate(tape, phi, before)};
  }
  const LinearShape shape = shape_of(x, weight);
  Tensor<Real> y = tape.make(shape.tokens, shape.fan_out);
  Tensor<Real> activated = tape.make(shape.tokens, shape.fan_out);
  tape.device().linear_activation_forward(shape, x.value.data(), weight.value.data(), data_of(bias),
                                          phi.kind, y.data(), activated.data());
  const Variable<Real> before = record_linear(tape, shape, std::move(y), x, weight, bias);
  return {before, record_activation(tape, phi, std::move(activated), before)};
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
                       if (const auto dx = t.into(x.slot)) {
                         device.conv_backward_input(shape, dy.data(), weight.value.data(), dx);
                       }
                       if (const auto dw = t.into(weight.slot)) {
                         device.conv_backward_weight(shape, x.value.data(), dy.data(), dw);
                       }
                       if (const auto dbias = t.into(db)) {
                         device.bias_backward(dy.rows(), dy.columns(), dy.data(), dbias);
                       }
                     });
}

template <class Real>
Variable<Real> activate(Tape<Real>& tape, const PointFunction& phi, const Variable<Real>& x) {
  Tensor<Real> y = tape.make(x.value.rows(), x.value.columns());
  apply(tape.device(), phi, x.value, y);
  return record_activation(tape, phi, std::move(y), x);
}

template <class Real>
Variable<Real> activate(Tape<Real>& tape, ActivationKind kind, const Variable<Real>& x) {
  return activate(tape, native_function(kind), x);
}

template <class Real>
Variable<Real> multiply(Tape<Real>& tape, const Variable<Real>& a, const Variable<Real>& b) {
  Tensor<Real> y = tape.make(a.value.rows(), a.value.columns());
  tape.device().multiply_forward(y.size(), a.value.data(), b.value.data(), y.data());
  return tape.result(
      std::move(y), {&a, &b},
      [da = a.slot, db = b.slot, a = Kept(a), b = Kept(b)](Tape<Real>& t, const Tensor<Real>& dy) {
        const Tensor<Real> left = a.value(t), right = b.value(t);
        const Into<Real> to_left = t.into(da), to_right = t.into(db);
        t.device().multiply_backward(dy.size(), left.data(), right.data(), dy.data(), to_left,
                                     to_right);
      });
}

template <class Real>
Variable<Real> drop(Tape<Real>& tape, const Stream& mask, double rate, const Variable<Real>& x,
                    std::int64_t shared) {
  Tensor<Real> y = tape.make(x.value.rows(), x.value.columns());
  tape.device().dropout_forward(mask, rate, shared, y.size(), x.value.data(), y.data());
  return tape.result(std::move(y), {&x},
                     [mask, rate, shared, slot = x.slot](Tape<Real>& t, const Tensor<Real>& dy) {
                       t.device().dropout_backward(mask, rate, shared, dy.size(), dy.data(),
                                                   t.into(slot));
                     });
}

template <class Real>
Variable<Real> scale(Tape<Real>& tape, double a, const Variable<Real>& x) {
  Tensor<Real> y = tape.make(x.value.rows(), x.value.columns());
  tape.device().scaled_backward(y.size(), a, x.value.data(), {y.data()});
  return tape.result(std::move(y), {&x}, [a, slot = x.slot](Tape<Real>& t, const Tensor<Real>& dy) {
    t.device().scaled_backward(dy.size(), a, dy.data(), t.into(slot));
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
        if (const auto dx = t.into(dx_slot))
          t.device().scaled_backward(dy.size(), a, dy.data(), dx);
        if (const auto df = t.into(df_slot))
          t.device().scaled_backward(dy.size(), b, dy.data(), df);
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
        if (const auto dx = t.into(dx_slot)) device.scaled_backward(dy.size(), a, dy.data(), dx);
        if (const auto df = t.into(f.slot))
          device.scaled_backward(dy.size(), weight, dy.data(), df);
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
  template Variable<Real> linear_by_rows(Tape<Real>&, const Variable<Real>&,                       \
                                         const Variable<Real>&, const Variable<Real>*);            \
  template Activated<Real> linear_activated(Tape<Real>&, const PointFunction&,                     \
                                            const Variable<Real>&, const Variable<Real>&,          \
                                            const Variable<Real>*);                                \
  template Variable<Real> convolve(Tape<Real>&, const ConvShape&, const Variable<Real>&,           \
                                   const Variable<Real>&, const Variable<Real>*);                  \
  template Variable<Real> activate(Tape<Real>&, ActivationKind, const Variable<Real>&);            \
  template Variable<Real> activate(Tape<Real>&, const PointFunction&, const Variable<Real>&);      \
  template Variable<Real> multiply(Tape<Real>&, const Variable<Real>&, const Variable<Real>&);     \
  template Variable<Real> drop(Tape<Real>&, const Stream&, double, const Variable<Real>&,          \
                               std::int64_t);                                                      \
  template Variable<Real> scale(Tape<Real>&, double, const Variable<Real>&);                       \
  template Variable<Real> blend(Tape<Real>&, double, const Variable<Real>&, double,                \
                                const Variable<Real>&);                                            \
  template Variable<Real> blend(Tape<Real>&, double, const Variable<Real>&, const Variable<Real>&, \
                                const Variable<Real>&);
// NOLINTEND(bugprone-macro-parentheses)
SCALECALC_INSTANTIATE(float)
SCALECALC_INSTANTIATE(double)
#undef SCALECALC_INSTANTIATE

}  // namespace scalecalc::tensor
