#include "passes/forward.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "passes/forward_layers.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::passes {

namespace {

/// Where one of several values lies in a packed one.
struct Extract {
  std::int64_t offset = 0, rows = 0, columns = 0;
  std::int64_t end() const { return offset + rows * columns; }
};

/// The stream and what is carried beside it, as one value.
template <class Real>
class Packed {
 public:
  using Value = Variable<Real>;
  Packed(const Value& x, const Carried<Real>& carried)
      : stream_{0, x.value.rows(), x.value.columns()} {
    std::int64_t end = stream_.end();
    const auto place = [&](const std::optional<Value>& value) {
      if (!value) return Extract{};
      const Extract at{end, value->value.rows(), value->value.columns()};
      end = at.end();
      return at;
    };
    scores_ = place(carried.scores);
    memory_ = place(carried.memory);
    values_ = place(carried.values);
    condition_ = place(carried.condition);
  }
  static Value together(Tape<Real>& tape, const Value& x, const Carried<Real>& carried) {
    Value all = x;
    for (const auto* each : {&carried.scores, &carried.memory, &carried.values, &carried.condition})
      if (*each) all = join(tape, all, **each);
    return all;
  }
  /// Gives the pass what it goes on with, and returns the stream.
  Value unpack(Tape<Real>& tape, const Value& packed, Forward<Real>& pass) const {
    const bool alone =
        scores_.rows == 0 && memory_.rows == 0 && values_.rows == 0 && condition_.rows == 0;
    Carried<Real>& carried = pass.carried();
    if (scores_.rows > 0) carried.scores = taken(tape, packed, scores_);
    if (memory_.rows > 0) carried.memory = taken(tape, packed, memory_);
    if (values_.rows > 0) carried.values = taken(tape, packed, values_);
    if (condition_.rows > 0) carried.condition = taken(tape, packed, condition_);
    return alone ? packed : taken(tape, packed, stream_);
  }

 private:
  static Value taken(Tape<Real>& tape, const Value& packed, const Extract& at) {
    return part(tape, packed, at.offset, at.rows, at.columns);
  }
  Extract stream_, scores_, memory_, values_, condition_;
};

/// The outermost layers in groups that keep their input alone.
template <class Real>
Variable<Real> run_in_groups(const Plan& plan, const Drawn<Real>& drawn, Tape<Real>& tape,
                             Observer<Real>* observer, Forward<Real>& pass) {
  const std::vector<Layer>& layers = plan.network.layers;
  const std::size_t group = group_size(layers.size());
  Variable<Real> x = pass.input();
  Packed<Real> form(x, {});
  Progress at = pass.progress();
  for (std::size_t begin = 0; begin < layers.size(); begin += group) {
    const std::size_t end = std::min(begin + group, layers.size());
    const auto run = [&plan, &drawn, observer, form, begin, end](
                         Tape<Real>& on, const Variable<Real>& in, Forward<Real>& through) {
      const Variable<Real> stream = form.unpack(on, in, through);
      return through.run(plan.network.layers, begin, end, stream);
    };
    Tape<Real> first = tape.unrecorded();
    Forward<Real> once(plan, drawn, first, observer, at);
    const Variable<Real> made = run(first, first.constant(x.value), once);
    at.replays = true;
    x = tape.recomputed(
        x, Packed<Real>::together(first, made, once.carried()).value,
        [&plan, &drawn, observer, at, run](Tape<Real>& on, const Variable<Real>& in) {
          Forward<Real> again(plan, drawn, on, observer, at);
          const Variable<Real> out = run(on, in, again);
          return Packed<Real>::together(on, out, again.carried());
        });
    form = Packed<Real>(made, once.carried());
    at = once.progress();
  }
  return form.unpack(tape, x, pass);
}

}  // namespace

template <class Real>
double forward(const Plan& plan, const Drawn<Real>& drawn, Tape<Real>& tape,
               Observer<Real>* observer, bool recompute) {
  Forward<Real> pass(plan, drawn, tape, observer);
  Variable<Real> logits = recompute ? run_in_groups(plan, drawn, tape, observer, pass)
                                    : pass.run(plan.network.layers, pass.input());
  if (plan.network.logit_softcap != 0)
    logits =
        activate(tape, plan.checked.functions.at(soft_cap(plan.network.logit_softcap)), logits);
  const Reduction reduction = plan.network.reduction;
  return plan.network.loss == Loss::mse
             ? squared_error(tape, logits, drawn.data.values, reduction)
             : cross_entropy(tape, logits, drawn.data.targets, reduction);
}
template double forward(const Plan&, const Drawn<float>&, Tape<float>&, Observer<float>*, bool);
template double forward(const Plan&, const Drawn<double>&, Tape<double>&, Observer<double>*, bool);

}  // namespace scalecalc::passes
