#include <fmt/format.h>

#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace concat_layer {

std::vector<LayerKey> keys() {
  return {list_key("layers")};
}

void check(const LayerSpec& spec, const std::string& path, const ModelSpec&) {
  check_has_layers(spec, path);
}

/// Its body is no branch of a residual stream: weights keep the gain of layers in series.
void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  Concat layer;
  layer.path = place.path;
  const Shape before = shape;
  layout.list(place.spec.layers, place.path + ".", shape, place.in_branch, layer.body);
  layer.stream = before.features;
  layer.branch = shape.features;
  Shape as_before = shape;
  as_before.features = before.features;
  if (!(as_before == before))
    throw layer_error(
        place.spec, place.path,
        fmt::format("its layers give {}, and begin with {}", to_string(shape), to_string(before)),
        "end with as many positions as they began with");
  shape.features += before.features;
  layout.emit({std::move(layer)}, out);
}

}  // namespace concat_layer

constinit const LayerKind concat_kind = {.name = "concat",
                                         .keys = concat_layer::keys,
                                         .check = concat_layer::check,
                                         .lay_out = concat_layer::lay_out};

void visit_parts(const Concat& layer, PartVisitor& visitor) {
  visitor.list(layer.body);
}

}  // namespace scalecalc
