#include "tensor/ops.hpp"

#include "scalecalc/error.hpp"
#include "scalecalc/symbolic.hpp"

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
Variable<Real> activate(Tape<Real>& tape, ActivationKind kind, const Variable<Real>& x) {
  Tensor<Real> y = tape.make(x.value.rows(), x.value.columns());
  tape.device().activation_forward(kind, y.size(), x.value.data(), y.data());
  return tape.result(std::move(y), {&x}, [kind, x](Tape<Real>& t, const Tensor<Real>& dy) {
    t.device().activation_backward(kind, dy.size(), x.value.data(), dy.data(), t.gradient(x.slot));
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
Variable<Real> normalise(Tape<Real>& tape, bool centred, double eps, const Variable<Real>& x) {
  const NormShape shape{x.value.rows(), x.value.columns(), centred, eps};
  Tensor<Real> y = tape.make(shape.tokens, shape.width), inverse = tape.make(shape.tokens, 1);
  tape.device().norm_forward(shape, x.value.data(), y.data(), inverse.data());
  return tape.result(
      y, {&x}, [shape, y, inverse, dx_slot = x.slot](Tape<Real>& t, const Tensor<Real>& dy) {
        t.device().norm_backward(shape, y.data(), inverse.data(), dy.data(), t.gradient(dx_slot));
      });
}

template <class Real>
Variable<Real> affine(Tape<Real>& tape, const Variable<Real>& x, const Variable<Real>& gain,
                      const Variable<Real>& shift) {
  const std::int64_t tokens = x.value.rows(), width = x.value.columns();
  Tensor<Real> y = tape.make(tokens, width);
  tape.device().affine_forward(tokens, width, x.value.data(), gain.value.data(), shift.value.data(),
                               y.data());
  return tape.result(std::move(y), {&x, &gain, &shift},
                     [x, gain, shift](Tape<Real>& t, const Tensor<Real>& dy) {
                       t.device().affine_backward(dy.rows(), dy.columns(), x.value.data(),
                                                  gain.value.data(), dy.data(), t.gradient(x.slot),
                                                  t.gradient(gain.slot), t.gradient(shift.slot));
                     });
}

template <class Real>
Variable<Real> attend(Tape<Real>& tape, const AttentionShape& shape, const Variable<Real>& q,
                      const Variable<Real>& k, const Variable<Real>& v) {
  Tensor<Real> weights = tape.make(shape.weight_rows(), shape.tokens);
  Tensor<Real> mix = tape.make(q.value.rows(), q.value.columns());
  tape.device().attention_forward(shape, q.value.data(), k.value.data(), v.value.data(),
                                  weights.data(), mix.data());
  return tape.result(std::move(mix), {&q, &k, &v},
                     [shape, q, k, v, weights](Tape<Real>& t, const Tensor<Real>& dmix) {
                       t.device().attention_backward(
                           shape, q.value.data(), k.value.data(), v.value.data(), weights.data(),
                           dmix.data(), t.gradient(q.slot), t.gradient(k.slot), t.gradient(v.slot));
                     });
}

template <class Real>
Variable<Real> embed(Tape<Real>& tape, const Variable<Real>& table,
                     const Tensor<std::int32_t>& ids) {
  Tensor<Real> y = tape.make(ids.rows(), table.value.columns());
  tape.device().embedding_forward(y.rows(), y.columns(), ids.data(), table.value.data(), y.data());
  return tape.result(std::move(y), {&table},
                     [ids, slot = table.slot](Tape<Real>& t, const Tensor<Real>& dy) {
                       t.device().embedding_backward(dy.rows(), dy.columns(), ids.data(), dy.data(),
                                                     t.gradient(slot));
                     });
}

template <class Real>
double cross_entropy(Tape<Real>& tape, const Variable<Real>& logits,
                     const Tensor<std::int32_t>& targets, Reduction reduction) {
  const std::int64_t tokens = logits.value.rows(), classes = logits.value.columns();
  const double scale = reduction == Reduction::mean ? 1.0 / static_cast<double>(tokens) : 1.0;
  Tensor<Real> probabilities = tape.make(tokens, classes);
  const double sum = tape.device().cross_entropy_forward(tokens, classes, logits.value.data(),
                                                         targets.data(), probabilities.data());
  tape.loss(logits, [=, slot = logits.slot](Tape<Real>& t, const Tensor<Real>&) {
    t.device().cross_entropy_backward(tokens, classes, probabilities.data(), targets.data(), scale,
                                      t.gradient(slot));
  });
  return scale * sum;
}

ActivationKind activation_kind(const std::string& function, const std::string& where) {
  static const std::vector<std::string> names = {"identity", "relu",    "gelu",
                                                 "tanh",     "sigmoid", "selu"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == function) return static_cast<ActivationKind>(i);
  }
  throw unknown_name("activation of the real passes", function, names, where);
}

#define SCALECALC_INSTANTIATE(Real)                                                               \
  template Variable<Real> linear(Tape<Real>&, const Variable<Real>&, const Variable<Real>&,       \
                                 const Variable<Real>*);                                          \
  template Variable<Real> activate(Tape<Real>&, ActivationKind, const Variable<Real>&);           \
  template Variable<Real> blend(Tape<Real>&, double, const Variable<Real>&, double,               \
                                const Variable<Real>&);                                           \
  template Variable<Real> normalise(Tape<Real>&, bool, double, const Variable<Real>&);            \
  template Variable<Real> affine(Tape<Real>&, const Variable<Real>&, const Variable<Real>&,       \
                                 const Variable<Real>&);                                          \
  template Variable<Real> attend(Tape<Real>&, const AttentionShape&, const Variable<Real>&,       \
                                 const Variable<Real>&, const Variable<Real>&);                   \
  template Variable<Real> embed(Tape<Real>&, const Variable<Real>&, const Tensor<std::int32_t>&); \
  template double cross_entropy(Tape<Real>&, const Variable<Real>&, const Tensor<std::int32_t>&,  \
                                Reduction);
SCALECALC_INSTANTIATE(float)
SCALECALC_INSTANTIATE(double)

}  // namespace scalecalc::tensor
