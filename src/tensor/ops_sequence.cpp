#include "tensor/ops.hpp"

namespace scalecalc::tensor {

template <class Real>
Variable<Real> attend(Tape<Real>& tape, const AttentionShape& shape, const Variable<Real>& q,
                      const Variable<Real>& k, const Variable<Real>& v) {
  Tensor<Real> log_sums = tape.make(shape.weight_rows(), 1);
  Tensor<Real> mix = tape.make(q.value.rows(), q.value.columns());
  tape.device().attention_forward(shape, q.value.data(), k.value.data(), v.value.data(),
                                  log_sums.data(), mix.data());
  return tape.result(mix, {&q, &k, &v},
                     [shape, q, k, v, log_sums, mix](Tape<Real>& t, const Tensor<Real>& dmix) {
                       const Into<Real> dq = t.into(q.slot), dk = t.into(k.slot);
                       t.device().attention_backward(shape, q.value.data(), k.value.data(),
                                                     v.value.data(), log_sums.data(), mix.data(),
                                                     dmix.data(), dq, dk, t.into(v.slot));
                     });
}

template <class Real>
Variable<Real> pool(Tape<Real>& tape, std::int64_t tokens, const Variable<Real>& x) {
  const SequenceShape shape{x.value.rows() / tokens, tokens, x.value.columns()};
  Tensor<Real> y = tape.make(shape.sequences, shape.width);
  tape.device().pool_forward(shape, x.value.data(), y.data());
  return tape.result(std::move(y), {&x},
                     [shape, slot = x.slot](Tape<Real>& t, const Tensor<Real>& dy) {
                       t.device().pool_backward(shape, dy.data(), t.into(slot));
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

// A sequence as one row: its positions are a bias of that row.
template <class Real>
Variable<Real> add_positions(Tape<Real>& tape, const Variable<Real>& x,
                             const Variable<Real>& table) {
  const std::int64_t row = table.value.size(), sequences = x.value.size() / row;
  Tensor<Real> y = scale(tape, 1.0, tape.constant(x.value)).value;
  tape.device().bias_forward(sequences, row, table.value.data(), y.data());
  return tape.result(
      std::move(y), {&x, &table},
      [=, dx_slot = x.slot, slot = table.slot](Tape<Real>& t, const Tensor<Real>& dy) {
        Device<Real>& device = t.device();
        if (const auto dx = t.into(dx_slot)) device.scaled_backward(dy.size(), 1.0, dy.data(), dx);
        if (const auto dt = t.into(slot)) device.bias_backward(sequences, row, dy.data(), dt);
      });
}

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a type.
#define SCALECALC_INSTANTIATE(Real)                                                               \
  template Variable<Real> attend(Tape<Real>&, const AttentionShape&, const Variable<Real>&,       \
                                 const Variable<Real>&, const Variable<Real>&);                   \
  template Variable<Real> pool(Tape<Real>&, std::int64_t, const Variable<Real>&);                 \
  template Variable<Real> embed(Tape<Real>&, const Variable<Real>&, const Tensor<std::int32_t>&); \
  template Variable<Real> add_positions(Tape<Real>&, const Variable<Real>&, const Variable<Real>&);
// NOLINTEND(bugprone-macro-parentheses)
SCALECALC_INSTANTIATE(float)
SCALECALC_INSTANTIATE(double)

}  // namespace scalecalc::tensor
