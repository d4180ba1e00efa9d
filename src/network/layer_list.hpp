#pragma once

#include <string>
#include <vector>

#include "network/parts.hpp"

/// The stream between two layers of a list.
namespace scalecalc {

struct Shape {
  std::int64_t features = 0, tokens = 0;
  std::int64_t height = 0, width = 0;  ///< of the image that the tokens are; 0 when they are none
  bool operator==(const Shape&) const = default;
};
std::string to_string(const Shape& shape);

/// One layer in its place: what it is made from, where it stands, what comes in.
struct Place {
  const LayerSpec& spec;
  const std::string& path;
  bool in_branch;
  bool is_head = false;
};

/// Layers that contain no others. `shape` becomes what leaves. Throws Error(input) at the layer's
/// position for shapes that do not fit.
Layer single_layer(const Parts& parts, const Place& place, Shape& shape);
Norm listed_norm(const Parts& parts, const LayerSpec& spec, const std::string& path,
                 const Shape& shape);

}  // namespace scalecalc
