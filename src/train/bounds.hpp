#pragma once

#include <cstddef>
#include <optional>

#include "scalecalc/train.hpp"

/// What a healthy gradient is, before training as after it.
namespace scalecalc::train_room {

inline constexpr double kLargestNorm = 1e3, kSmallestNorm = 1e-3;

/// The first block whose gradient has a norm below kSmallestNorm.
inline std::optional<std::size_t> vanishing_block(const LayerNorms& gradient) {
  for (std::size_t i = 0; i < gradient.layers.size(); ++i) {
    if (gradient.layers[i].starts_with("block[") && gradient.norms[i] < kSmallestNorm) return i;
  }
  return std::nullopt;
}

}  // namespace scalecalc::train_room
