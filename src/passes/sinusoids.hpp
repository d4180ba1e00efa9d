#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "tensor/tape.hpp"

namespace scalecalc::passes {

/// A table of fixed positions, row after row: sin t omega_i, and behind all of them cos t omega_i,
/// omega_i = 10000^(-i/(width/2 - 1)) (docs/theory/layers.md#sinusoids).
template <class Real>
tensor::Variable<Real> sinusoids(tensor::Tape<Real>& tape, std::int64_t tokens,
                                 std::int64_t width) {
  const std::int64_t half = width / 2;
  const double step = std::log(10000.0) / static_cast<double>(std::max<std::int64_t>(1, half - 1));
  std::vector<Real> values;
  values.reserve(static_cast<std::size_t>(tokens * width));
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t i = 0; i < width; ++i) {
      const double angle = static_cast<double>(t) * std::exp(-step * static_cast<double>(i % half));
      values.push_back(static_cast<Real>(i < half ? std::sin(angle) : std::cos(angle)));
    }
  tensor::Tensor<Real> table = tape.make(tokens, width);
  tape.device().upload(values.data(), table.data(), table.bytes());
  return tape.constant(std::move(table));
}

}  // namespace scalecalc::passes
