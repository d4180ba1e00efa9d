#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace gated_layer {

std::vector<LayerKey> keys() {
  return joined(
      {{layer_key("width", &LayerSpec::width), layer_key("activation", &LayerSpec::activation),
        layer_key("gate_std", &LayerSpec::gate_std), layer_key("in_std", &LayerSpec::in_std)},
       weight_keys()});
}

void check(const LayerSpec& spec, const std::string& path, const ModelSpec&) {
  if (spec.width == 0) throw missing_key(spec, path, "width", "256");
}

void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  const auto part = [&](const char* suffix, const std::optional<double>& std) {
    LayerSpec own = place.spec;
    if (std) own.std = std;
    const Place inner{own, place.path, place.in_branch};
    return at(listed_weight(layout.parts(), inner, shape.features, own.width), place.path + suffix);
  };
  Gated layer{place.path, listed_activation(layout.parts(), place.spec),
              part(".gate", place.spec.gate_std), part(".in", place.spec.in_std)};
  shape.features = place.spec.width;
  layout.emit({std::move(layer)}, out);
}

}  // namespace gated_layer

constinit const LayerKind gated_kind = {.name = "gated",
                                        .keys = gated_layer::keys,
                                        .check = gated_layer::check,
                                        .lay_out = gated_layer::lay_out,
                                        .parts = {"gate", "in"}};

void visit_parts(const Gated& layer, PartVisitor& visitor) {
  visitor.member(layer.gate);
  visitor.member(layer.in);
}

}  // namespace scalecalc
