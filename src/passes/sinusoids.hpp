#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "scalecalc/layers/class_tokens.hpp"
#include "tensor/tape.hpp"

namespace scalecalc::passes {

/// Row after row, sin t omega_i and behind all of them cos t omega_i, omega_i = 10000^(-i/steps).
inline void append_waves(std::vector<double>& values, std::int64_t t, std::int64_t count,
                         double steps) {
  const double step = std::log(10000.0) / steps;
  for (std::int64_t i = 0; i < 2 * count; ++i) {
    const double angle = static_cast<double>(t) * std::exp(-step * static_cast<double>(i % count));
    values.push_back(i < count ? std::sin(angle) : std::cos(angle));
  }
}

/// A table of fixed positions: of one row with width/2 - 1 steps, of a grid of so many columns
/// those of its rows and then those of its columns, with width/4 (docs/theory/layers.md#sinusoids).
template <class Real>
tensor::Variable<Real> sinusoids(tensor::Tape<Real>& tape, const ClassTokens& layer) {
  const std::int64_t tokens = layer.tokens, width = layer.width, columns = layer.columns;
  std::vector<double> waves;
  waves.reserve(static_cast<std::size_t>(tokens * width));
  for (std::int64_t t = 0; t < tokens; ++t) {
    if (columns == 0) {
      append_waves(waves, t, width / 2,
                   static_cast<double>(std::max<std::int64_t>(1, width / 2 - 1)));
      continue;
    }
    for (const std::int64_t place : {t / columns, t % columns})
      append_waves(waves, place, width / 4, static_cast<double>(width / 4));
  }
  const std::vector<Real> values(waves.begin(), waves.end());
  tensor::Tensor<Real> table = tape.make(tokens, width);
  tape.device().upload(values.data(), table.data(), table.bytes());
  return tape.constant(std::move(table));
}

}  // namespace scalecalc::passes
