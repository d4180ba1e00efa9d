#pragma once

#include <string>
#include <vector>

namespace scalecalc {

struct Layer;  // scalecalc/layers.hpp

/// Layers of their own, on the input that the network has for its memory: what leaves them is the
/// memory that all cross-attention behind reads. The stream goes by unchanged.
struct Encoder {
  std::string path;
  std::vector<Layer> layers;
};

}  // namespace scalecalc
