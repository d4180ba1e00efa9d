#include "network/layer_spec.hpp"
#include "network/parts.hpp"

namespace scalecalc {

bool uses_memory(const ModelSpec& spec) {
  if (spec.kind != ModelSpec::Kind::layers) return spec.cross_attention;
  return any_layer(spec.layer_list, [](const LayerSpec& layer) { return layer.memory; });
}

std::int64_t head_width(const ModelSpec& spec) {
  return spec.head_width != 0 ? spec.head_width : spec.width / spec.heads;
}

ModelSpec default_spec(ModelSpec::Kind kind) {
  ModelSpec spec;
  spec.kind = kind;
  if (kind == ModelSpec::Kind::transformer) return spec;
  spec.norm = NormKind::none;
  spec.placement = Placement::none;
  if (kind == ModelSpec::Kind::mlp) return spec;
  spec.layers = 1;
  spec.vocab = 0;
  return spec;
}

}  // namespace scalecalc
