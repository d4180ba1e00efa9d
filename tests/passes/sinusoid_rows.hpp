#pragma once

#include <cmath>
#include <vector>

#include "passes/support.hpp"
#include "scalecalc/layers/class_tokens.hpp"

namespace scalecalc::passes {

/// Fixed positions, by their formula (docs/theory/layers.md#sinusoids).
inline std::vector<Vector> sinusoid_rows(const ClassTokens& layer) {
  std::vector<Vector> table;
  for (std::int64_t t = 0; t < layer.tokens && layer.columns > 0; ++t) {
    table.emplace_back();
    for (const std::int64_t place : {t / layer.columns, t % layer.columns})
      for (const bool is_sine : {true, false})
        for (std::int64_t i = 0; i < layer.width / 4; ++i) {
          const double angle =
              static_cast<double>(place) /
              std::pow(10000.0, 4 * static_cast<double>(i) / static_cast<double>(layer.width));
          table.back().push_back(is_sine ? std::sin(angle) : std::cos(angle));
        }
  }
  for (std::int64_t t = 0; t < layer.tokens && layer.columns == 0; ++t) {
    Vector sines, cosines;
    for (std::int64_t i = 0; i < layer.width / 2; ++i) {
      const double slower =
          std::pow(10000.0, static_cast<double>(i) / (static_cast<double>(layer.width) / 2 - 1));
      sines.push_back(std::sin(static_cast<double>(t) / slower));
      cosines.push_back(std::cos(static_cast<double>(t) / slower));
    }
    sines.insert(sines.end(), cosines.begin(), cosines.end());
    table.push_back(sines);
  }
  return table;
}

}  // namespace scalecalc::passes
