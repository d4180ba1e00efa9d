#pragma once

#include <string>
#include <vector>

#include "architectures/family.hpp"
#include "scalecalc/architectures.hpp"

namespace scalecalc::architectures {

/// A list of layers as a model file writes it, and the tensors of its parameters.
struct WrittenLayers {
  std::string toml;
  std::vector<NamePattern> names;
};

/// The list "model" of a family. Weights that have a name are drawn as the library draws the tensor
/// of that name, and have a bias where it has; what repeats becomes a repeat. Throws Error(input):
/// values of the wrong type, more than 100000 layers, a gain that starts elsewhere than at 1.
WrittenLayers write_layers(const Family& family, const Lookup& config,
                           const std::vector<LibraryTensor>& tensors);

}  // namespace scalecalc::architectures
