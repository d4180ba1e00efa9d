#pragma once

#include "scalecalc/network.hpp"

/// A transformer of one block, and parts of what it is laid out as.
namespace scalecalc::testing {

inline ModelSpec small() {
  ModelSpec spec;
  spec.layers = 1;
  spec.width = 8;
  spec.heads = 4;
  spec.ffn = 12;
  spec.vocab = 5;
  spec.placement = Placement::pre;
  return spec;
}

inline const Residual& residual(const Network& network, std::size_t index) {
  return std::get<Residual>(network.layers[index].op);
}
inline const Attention& attention(const Network& network, std::size_t index) {
  return std::get<Attention>(residual(network, index).body[1].op);
}

}  // namespace scalecalc::testing
