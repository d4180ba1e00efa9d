#include <utility>

#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace encoder_layer {

std::vector<LayerKey> keys() {
  return {list_key("layers")};
}

void check(const LayerSpec& spec, const std::string& path, const ModelSpec& model) {
  check_has_layers(spec, path);
  const bool tokens = model.input.kind == InputKind::tokens;
  if (tokens && spec.layers.front().type != LayerSpec::Type::embedding)
    throw layer_error(spec, path, "tokens need an embedding as its first layer",
                      "begin it with type = \"embedding\", or use kind = \"gaussian\"");
}

/// Once, in the outermost list, and before what reads it.
void check_place(const Place& place, const AttentionsBefore& before) {
  if (place.path.find('.') != std::string::npos)
    throw layer_error(place.spec, place.path, "it stands inside another layer",
                      "put it into the outermost list, before what attends to the memory");
  if (!before.encoder.empty())
    throw layer_error(place.spec, place.path, "there is one already, " + before.encoder,
                      "keep one encoder: a network has one memory");
  if (before.memory_width != 0)
    throw layer_error(place.spec, place.path, "a layer before it attends to the memory",
                      "put the encoder before the first attention with memory = true");
}

void lay_out(ListLayout& layout, const Place& place, Shape& /*shape*/, std::vector<Layer>& out) {
  const ModelSpec& model = layout.parts().spec();
  check_place(place, layout.attentions);
  const auto scores = std::exchange(layout.attentions.scores, std::nullopt);
  Encoder layer{place.path, {}};
  Shape memory{model.features, model.memory.sequence};
  layout.list(place.spec.layers, place.path + ".", memory, place.in_branch, layer.layers);
  if (layout.attentions.memory_width != 0)
    throw layer_error(place.spec, place.path, "a layer inside it attends to the memory it makes",
                      "leave out memory = true there");
  layout.attentions.scores = scores;
  layout.attentions.encoder = place.path;
  layout.attentions.memory_width = memory.features;
  layout.emit({std::move(layer)}, out);
}

}  // namespace encoder_layer

constinit const LayerKind encoder_kind = {.name = "encoder",
                                          .keys = encoder_layer::keys,
                                          .check = encoder_layer::check,
                                          .lay_out = encoder_layer::lay_out,
                                          .parts = {"input"}};

void visit_parts(const Encoder& layer, PartVisitor& visitor) {
  visitor.list(layer.layers);
}

}  // namespace scalecalc
