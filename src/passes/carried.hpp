#pragma once

#include <optional>

#include "tensor/tape.hpp"

namespace scalecalc::passes {

/// What layers leave for those behind them, beside the stream: the scores of residual attention so
/// far, what an encoder has made, and the values that the last attention with `gives_values` has.
template <class Real>
struct Carried {
  std::optional<tensor::Variable<Real>> scores, memory, values;
};

}  // namespace scalecalc::passes
