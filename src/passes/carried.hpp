#pragma once

#include <optional>

#include "tensor/tape.hpp"

namespace scalecalc::passes {

/// What layers leave for those behind them, beside the stream: the scores of residual attention so
/// far, and what an encoder has made.
template <class Real>
struct Carried {
  std::optional<tensor::Variable<Real>> scores, memory;
};

}  // namespace scalecalc::passes
