#include <algorithm>

#include "network/parts.hpp"

namespace scalecalc {
namespace {

bool any_memory(const std::vector<LayerSpec>& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const LayerSpec& layer) {
    return layer.memory || any_memory(layer.layers) || any_memory(layer.shortcut);
  });
}

}  // namespace

bool uses_memory(const ModelSpec& spec) {
  return spec.kind == ModelSpec::Kind::layers ? any_memory(spec.layer_list) : spec.cross_attention;
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
