#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace dropout_layer {

std::vector<LayerKey> keys() {
  return {layer_key("rate", &LayerSpec::dropout), layer_key("per_sample", &LayerSpec::per_sample)};
}

void check(const LayerSpec& spec, const std::string& path, const ModelSpec&) {
  check_rate(spec, path);
}

void lay_out(ListLayout& layout, const Place& place, Shape&, std::vector<Layer>& out) {
  layout.emit({Dropout{place.path, place.spec.dropout, place.spec.per_sample}}, out);
}

}  // namespace dropout_layer

constinit const LayerKind dropout_kind = {.name = "dropout",
                                          .keys = dropout_layer::keys,
                                          .check = dropout_layer::check,
                                          .lay_out = dropout_layer::lay_out};

void visit_parts(const Dropout&, PartVisitor&) {}

}  // namespace scalecalc
