#pragma once

#include "networks.hpp"
#include "passes/check.hpp"

/// Layers inside of small networks, and what is said of those that cannot be.
namespace scalecalc::passes {

/// A linear layer in front, so that the gradient through the layer under test counts too.
inline Network around(std::vector<Layer> layers, std::int64_t width = 6,
                      std::int64_t sequence = 4) {
  layers.insert(layers.begin(), {dense("first", width, width)});
  return network_of(std::move(layers), width, sequence);
}

/// What check() says of it, with a memory of four tokens.
inline std::string refusal_of(Network network) {
  network.memory_sequence = 4;
  try {
    check(network);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace scalecalc::passes
