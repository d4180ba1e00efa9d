#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace {

std::vector<LayerKey> keys() {
  return joined(
      {{layer_key("width", &LayerSpec::width), layer_key("activation", &LayerSpec::activation)},
       weight_keys()});
}

void check(const LayerSpec& spec, const std::string& path, const ModelSpec&) {
  if (spec.width == 0) throw missing_key(spec, path, "width", "256");
}

void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  const Linear both = listed_weight(layout.parts(), place, shape.features, place.spec.width);
  shape.features = place.spec.width;
  layout.emit({Gated{place.path, listed_activation(layout.parts(), place.spec),
                     at(both, place.path + ".gate"), at(both, place.path + ".in")}},
              out);
}

}  // namespace

constinit const LayerKind gated_kind = {
    .name = "gated", .keys = keys, .check = check, .lay_out = lay_out, .parts = {"gate", "in"}};

void visit_parts(const Gated& layer, PartVisitor& visitor) {
  visitor.member(layer.gate);
  visitor.member(layer.in);
}

}  // namespace scalecalc
