#pragma once

#include <cstdint>

#include "scalecalc/network.hpp"

namespace scalecalc::tensor {

/// Entries held at once, roughly: all weights, and what one pass keeps for its backward.
struct Footprint {
  double parameters = 0.0, activations = 0.0;
};

/// Checks that the layers fit together and that every number in them can be used. Throws
/// Error(input) naming the layer.
Footprint check(const Network& network);

/// Throws Error(input) when the network would need more memory than this machine has.
void check_memory(const Footprint& footprint, std::size_t entry_bytes);

}  // namespace scalecalc::tensor
