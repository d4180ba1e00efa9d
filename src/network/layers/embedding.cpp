#include <cmath>

#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace embedding_layer {

std::vector<LayerKey> keys() {
  return {layer_key("width", &LayerSpec::width), layer_key("std", &LayerSpec::std),
          layer_key("vocab", &LayerSpec::vocab)};
}

void check(const LayerSpec& spec, const std::string& path, const ModelSpec&) {
  if (spec.width == 0) throw missing_key(spec, path, "width", "256");
  if (spec.vocab == 0) throw missing_key(spec, path, "vocab", "1000");
}

void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  const LayerSpec& spec = place.spec;
  const ModelSpec::Input& input = layout.parts().spec().input;
  shape.features = spec.width;
  layout.emit(
      {Embedding{place.path, spec.vocab, spec.width, spec.std.value_or(std::sqrt(input.second)),
                 std::sqrt(input.positions), shape.tokens, input.segments, input.multiplier}},
      out);
}

}  // namespace embedding_layer

constinit const LayerKind embedding_kind = {.name = "embedding",
                                            .keys = embedding_layer::keys,
                                            .check = embedding_layer::check,
                                            .lay_out = embedding_layer::lay_out,
                                            .parts = {"weight", "position", "segment"}};

void visit_parts(const Embedding& layer, PartVisitor& visitor) {
  ParameterInfo info;
  info.role = "embedding";
  info.rows = layer.vocab;
  info.columns = layer.width;
  info.distribution = Distribution::normal;
  info.std = layer.std;
  visitor.parameter(layer.path, Embedding::weight_index, ".weight", info);
  ParameterInfo position = info, segment = info;
  position.rows = layer.positions != 0 ? layer.positions : visitor.positions();
  position.std = layer.position_std;
  if (layer.position_std > 0)
    visitor.parameter(layer.path, Embedding::position_index, ".position", position);
  segment.rows = layer.segments;
  if (layer.segments > 0)
    visitor.parameter(layer.path, Embedding::segment_index, ".segment", segment);
}

}  // namespace scalecalc
