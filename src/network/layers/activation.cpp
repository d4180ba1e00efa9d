#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace activation_layer {

std::vector<LayerKey> keys() {
  return {layer_key("activation", &LayerSpec::activation)};
}

void lay_out(ListLayout& layout, const Place& place, Shape&, std::vector<Layer>& out) {
  layout.emit({ActivationLayer{place.path, listed_activation(layout.parts(), place.spec)}}, out);
}

}  // namespace activation_layer

constinit const LayerKind activation_kind = {
    .name = "activation", .keys = activation_layer::keys, .lay_out = activation_layer::lay_out};

void visit_parts(const ActivationLayer&, PartVisitor&) {}

std::string listed_activation(const Parts& parts, const LayerSpec& spec) {
  return spec.activation.empty() ? parts.spec().activation : spec.activation;
}

}  // namespace scalecalc
