#include "tensor/ops.hpp"

#include <cmath>

namespace scalecalc::tensor {

template <class Real>
Tensor<Real> rotary_turns(Tape<Real>& tape, std::int64_t tokens, const std::vector<double>& theta,
                          double size) {
  const std::size_t half = theta.size();
  std::vector<Real> values(static_cast<std::size_t>(tokens) * 2 * half);
  for (std::int64_t t = 0; t < tokens; ++t) {
    Real* const row = values.data() + static_cast<std::size_t>(t) * 2 * half;
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) * theta[i];
      row[i] = static_cast<Real>(size * std::cos(angle));
      row[i + half] = static_cast<Real>(size * std::sin(angle));
    }
  }
  Tensor<Real> turns = tape.make(tokens, static_cast<std::int64_t>(2 * half));
  tape.device().upload(values.data(), turns.data(), turns.bytes());
  return turns;
}

template <class Real>
Variable<Real> rotate(Tape<Real>& tape, const RotaryShape& shape, const Tensor<Real>& turns,
                      const Variable<Real>& x) {
  Tensor<Real> y = tape.make(x.value.rows(), x.value.columns());
  tape.device().rotary_forward(shape, turns.data(), x.value.data(), y.data());
  return tape.result(std::move(y), {&x},
                     [shape, turns, slot = x.slot](Tape<Real>& t, const Tensor<Real>& dy) {
                       t.device().rotary_backward(shape, turns.data(), dy.data(), t.into(slot));
                     });
}

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
Variable<Real> score(Tape<Real>& tape, const AttentionShape& shape, const Variable<Real>& q,
                     const Variable<Real>& k, const Variable<Real>* before) {
  const Variable<Real> none, &other = before != nullptr ? *before : none;
  Tensor<Real> scores = tape.make(shape.weight_rows(), shape.key_tokens());
  tape.device().scores_forward(shape, q.value.data(), k.value.data(),
                               before != nullptr ? before->value.data() : nullptr, scores.data());
  return tape.result(std::move(scores), {&q, &k, &other},
                     [shape, q, k, slot = other.slot](Tape<Real>& t, const Tensor<Real>& dscores) {
                       Device<Real>& device = t.device();
                       const Into<Real> dq = t.into(q.slot), dk = t.into(k.slot);
                       device.scores_backward(shape, q.value.data(), k.value.data(), dscores.data(),
                                              dq, dk);
                       if (const auto into = t.into(slot))
                         device.scaled_backward(dscores.size(), 1.0, dscores.data(), into);
                     });
}

template <class Real>
Variable<Real> attend_by(Tape<Real>& tape, const AttentionShape& shape,
                         const Variable<Real>& scores, const Variable<Real>& v) {
  Tensor<Real> log_sums = tape.make(shape.weight_rows(), 1);
  Tensor<Real> mix = tape.make(shape.sequences * shape.tokens, shape.width());
  tape.device().mix_forward(shape, scores.value.data(), v.value.data(), log_sums.data(),
                            mix.data());
  return tape.result(mix, {&scores, &v},
                     [shape, scores, v, log_sums, mix](Tape<Real>& t, const Tensor<Real>& dmix) {
                       const Into<Real> dscores = t.into(scores.slot);
                       t.device().mix_backward(shape, scores.value.data(), v.value.data(),
                                               log_sums.data(), mix.data(), dmix.data(), dscores,
                                               t.into(v.slot));
                     });
}

template <class Real>
Variable<Real> relative_biases(Tape<Real>& tape, const BiasShape& shape,
                               const Tensor<std::int32_t>& buckets, const Variable<Real>& table) {
  Tensor<Real> y = tape.make(shape.sequences * shape.heads * shape.tokens, shape.keys);
  tape.device().relative_forward(shape, buckets.data(), table.value.data(), y.data());
  return tape.result(std::move(y), {&table},
                     [shape, buckets, slot = table.slot](Tape<Real>& t, const Tensor<Real>& dy) {
                       t.device().relative_backward(shape, buckets.data(), dy.data(),
                                                    t.gradient(slot));
                     });
}

template <class Real>
Variable<Real> join(Tape<Real>& tape, const Variable<Real>& a, const Variable<Real>& b) {
  const std::int64_t n = a.value.size(), m = b.value.size();
  Tensor<Real> row = tape.make(1, n + m);
  tape.device().scaled_backward(n, 1.0, a.value.data(), {row.data(), false});
  tape.device().scaled_backward(m, 1.0, b.value.data(), {row.data() + n, false});
  return tape.result(std::move(row), {&a, &b},
                     [n, m, a = a.slot, b = b.slot](Tape<Real>& t, const Tensor<Real>& drow) {
                       Device<Real>& device = t.device();
                       if (const auto da = t.into(a))
                         device.scaled_backward(n, 1.0, drow.data(), da);
                       if (const auto db = t.into(b))
                         device.scaled_backward(m, 1.0, drow.data() + n, db);
                     });
}

template <class Real>
Variable<Real> part(Tape<Real>& tape, const Variable<Real>& joined, std::int64_t first,
                    std::int64_t rows, std::int64_t columns) {
  Tensor<Real> y = tape.make(rows, columns);
  tape.device().scaled_backward(y.size(), 1.0, joined.value.data() + first, {y.data(), false});
  return tape.result(
      std::move(y), {&joined}, [first, slot = joined.slot](Tape<Real>& t, const Tensor<Real>& dy) {
        t.device().scaled_backward(dy.size(), 1.0, dy.data(), {t.gradient(slot) + first, true});
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
Variable<Real> max_pool(Tape<Real>& tape, const ConvShape& shape, const Variable<Real>& x) {
  Tensor<Real> y = tape.make(shape.images * shape.out_positions(), shape.in_channels);
  tape.device().max_pool_forward(shape, x.value.data(), y.data());
  return tape.result(std::move(y), {&x}, [shape, x](Tape<Real>& t, const Tensor<Real>& dy) {
    t.device().max_pool_backward(shape, x.value.data(), dy.data(), t.into(x.slot));
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

namespace {

/// Row numbers, sequence by sequence: those of rows(sequence).
template <class Rows>
std::vector<std::int32_t> indices_of(std::int64_t sequences, const Rows& rows) {
  std::vector<std::int32_t> made;
  for (std::int64_t b = 0; b < sequences; ++b)
    rows(b, [&](std::int64_t row) { made.push_back(static_cast<std::int32_t>(row)); });
  return made;
}

}  // namespace

// One table of all rows, of which each token takes one.
template <class Real>
Variable<Real> prepend(Tape<Real>& tape, std::int64_t tokens, const Variable<Real>& front,
                       const Variable<Real>& x) {
  const std::int64_t count = front.value.rows(), rows = x.value.rows();
  const auto order = indices_of(rows / tokens, [&](std::int64_t b, const auto& add) {
    for (std::int64_t i = 0; i < count; ++i) add(i);
    for (std::int64_t t = 0; t < tokens; ++t) add(count + b * tokens + t);
  });
  const Variable<Real> all = part(tape, join(tape, front, x), 0, count + rows, x.value.columns());
  return embed(tape, all, tape.indices(order));
}

template <class Real>
Variable<Real> take(Tape<Real>& tape, std::int64_t tokens, std::int64_t first, std::int64_t count,
                    const Variable<Real>& x) {
  const auto order = indices_of(x.value.rows() / tokens, [&](std::int64_t b, const auto& add) {
    for (std::int64_t t = first; t < first + count; ++t) add(b * tokens + t);
  });
  return embed(tape, x, tape.indices(order));
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

template <class Real>
Variable<Real> route(Tape<Real>& tape, const RouteShape& shape, const Variable<Real>& scores) {
  Tensor<Real> weights = tape.make(shape.tokens, shape.experts);
  tape.device().route_forward(shape, scores.value.data(), weights.data());
  return tape.result(weights, {&scores},
                     [shape, scores, weights](Tape<Real>& t, const Tensor<Real>& dweights) {
                       t.device().route_backward(shape, scores.value.data(), weights.data(),
                                                 dweights.data(), t.into(scores.slot));
                     });
}

template <class Real>
Variable<Real> weigh_rows(Tape<Real>& tape, const Variable<Real>& x, const Variable<Real>& w,
                          std::int64_t column) {
  const RowsShape shape{x.value.rows(), x.value.columns(), w.value.columns()};
  Tensor<Real> y = tape.make(shape.rows, shape.width);
  tape.device().weigh_rows_forward(shape, x.value.data(), w.value.data() + column, y.data());
  return tape.result(
      std::move(y), {&x, &w}, [shape, x, w, column](Tape<Real>& t, const Tensor<Real>& dy) {
        const Into<Real> dx = t.into(x.slot);
        t.device().weigh_rows_backward(shape, x.value.data(), w.value.data() + column, dy.data(),
                                       dx, {t.gradient(w.slot) + column, true});
      });
}

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a type.
#define SCALECALC_INSTANTIATE(Real)                                                               \
  template Variable<Real> route(Tape<Real>&, const RouteShape&, const Variable<Real>&);           \
  template Variable<Real> weigh_rows(Tape<Real>&, const Variable<Real>&, const Variable<Real>&,   \
                                     std::int64_t);                                               \
  template Tensor<Real> rotary_turns(Tape<Real>&, std::int64_t, const std::vector<double>&,       \
                                     double);                                                     \
  template Variable<Real> rotate(Tape<Real>&, const RotaryShape&, const Tensor<Real>&,            \
                                 const Variable<Real>&);                                          \
  template Variable<Real> attend(Tape<Real>&, const AttentionShape&, const Variable<Real>&,       \
                                 const Variable<Real>&, const Variable<Real>&);                   \
  template Variable<Real> score(Tape<Real>&, const AttentionShape&, const Variable<Real>&,        \
                                const Variable<Real>&, const Variable<Real>*);                    \
  template Variable<Real> attend_by(Tape<Real>&, const AttentionShape&, const Variable<Real>&,    \
                                    const Variable<Real>&);                                       \
  template Variable<Real> relative_biases(Tape<Real>&, const BiasShape&,                          \
                                          const Tensor<std::int32_t>&, const Variable<Real>&);    \
  template Variable<Real> join(Tape<Real>&, const Variable<Real>&, const Variable<Real>&);        \
  template Variable<Real> part(Tape<Real>&, const Variable<Real>&, std::int64_t, std::int64_t,    \
                               std::int64_t);                                                     \
  template Variable<Real> pool(Tape<Real>&, std::int64_t, const Variable<Real>&);                 \
  template Variable<Real> max_pool(Tape<Real>&, const ConvShape&, const Variable<Real>&);         \
  template Variable<Real> embed(Tape<Real>&, const Variable<Real>&, const Tensor<std::int32_t>&); \
  template Variable<Real> prepend(Tape<Real>&, std::int64_t, const Variable<Real>&,               \
                                  const Variable<Real>&);                                         \
  template Variable<Real> take(Tape<Real>&, std::int64_t, std::int64_t, std::int64_t,             \
                               const Variable<Real>&);                                            \
  template Variable<Real> add_positions(Tape<Real>&, const Variable<Real>&, const Variable<Real>&);
// NOLINTEND(bugprone-macro-parentheses)
SCALECALC_INSTANTIATE(float)
SCALECALC_INSTANTIATE(double)
#undef SCALECALC_INSTANTIATE

}  // namespace scalecalc::tensor
