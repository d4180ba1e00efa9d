#pragma once

#include <optional>

#include "tensor/tape.hpp"

namespace scalecalc::passes {

/// What layers leave for those behind them, beside the stream: the scores of residual attention so
/// far, what an encoder has made, the values that the last attention with `gives_values` has, and
/// the vector of each sample that modulations read.
template <class Real>
struct Carried {
  std::optional<tensor::Variable<Real>> scores, memory, values, condition;
};

}  // namespace scalecalc::passes
