#include "tensor/ops.hpp"

namespace scalecalc::tensor {

namespace {

double loss_share(Reduction reduction, std::int64_t rows) {
  return reduction == Reduction::mean ? 1.0 / static_cast<double>(rows) : 1.0;
}

}  // namespace

template <class Real>
double cross_entropy(Tape<Real>& tape, const Variable<Real>& logits,
                     const Tensor<std::int32_t>& targets, Reduction reduction) {
  const std::int64_t tokens = logits.value.rows(), classes = logits.value.columns();
  const double share = loss_share(reduction, tokens);
  Tensor<Real> probabilities = tape.make(tokens, classes);
  const double sum = tape.device().cross_entropy_forward(tokens, classes, logits.value.data(),
                                                         targets.data(), probabilities.data());
  tape.loss(logits, [=, slot = logits.slot](Tape<Real>& t, const Tensor<Real>&) {
    t.device().cross_entropy_backward(tokens, classes, probabilities.data(), targets.data(), share,
                                      t.into(slot));
  });
  return share * sum;
}

template <class Real>
double squared_error(Tape<Real>& tape, const Variable<Real>& y, const Tensor<Real>& targets,
                     Reduction reduction) {
  const double share = loss_share(reduction, y.value.rows());
  const double sum =
      tape.device().squared_error_forward(y.value.size(), y.value.data(), targets.data());
  tape.loss(y, [share, y, targets](Tape<Real>& t, const Tensor<Real>&) {
    t.device().squared_error_backward(y.value.size(), y.value.data(), targets.data(), share,
                                      t.into(y.slot));
  });
  return share * sum;
}

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a type.
#define SCALECALC_INSTANTIATE(Real)                                                              \
  template double cross_entropy(Tape<Real>&, const Variable<Real>&, const Tensor<std::int32_t>&, \
                                Reduction);                                                      \
  template double squared_error(Tape<Real>&, const Variable<Real>&, const Tensor<Real>&, Reduction);
// NOLINTEND(bugprone-macro-parentheses)
SCALECALC_INSTANTIATE(float)
SCALECALC_INSTANTIATE(double)
#undef SCALECALC_INSTANTIATE

}  // namespace scalecalc::tensor
