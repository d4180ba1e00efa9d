#include <algorithm>

#include "calibration.hpp"

namespace scalecalc::bench {
namespace {

/// Depth, tokens and words that let 24 seeds of a preset take a second.
constexpr std::int64_t most_layers = 12, most_tokens = 64, most_words = 500;

/// Channels of a list of layers, divided.
void narrow(std::vector<LayerSpec>& layers, std::int64_t divisor) {
  for (LayerSpec& layer : layers) {
    layer.width /= divisor;
    narrow(layer.layers, divisor);
    narrow(layer.shortcut, divisor);
  }
}

/// A transformer keeps its ratio of heads to key and value heads, and of ffn to width.
ModelSpec smaller(ModelSpec spec, std::int64_t width) {
  spec.layers = std::min(spec.layers, most_layers);
  spec.vocab = std::min(spec.vocab, most_words);
  spec.sequence = std::min(spec.sequence, most_tokens);
  spec.memory.sequence = std::min(spec.memory.sequence, most_tokens);
  spec.ffn = spec.ffn * width / spec.width;
  spec.features = width;
  spec.width = width;
  const std::int64_t shared = spec.kv_heads == 0 ? 1 : spec.heads / spec.kv_heads;
  while (spec.heads > shared && spec.heads * 8 > width) spec.heads /= 2;
  if (spec.kv_heads != 0) spec.kv_heads = spec.heads / shared;
  while (width % spec.heads != 0) --spec.heads;
  return spec;
}

/// Images of 16 x 16.
ModelSpec smaller_image(ModelSpec spec, std::int64_t divisor) {
  spec.height = 16;
  spec.sequence = spec.height * spec.height;
  narrow(spec.layer_list, divisor);
  return spec;
}

}  // namespace

std::vector<SmallPreset> small_presets() {
  std::vector<SmallPreset> all;
  for (const Preset& preset : presets()) {
    const ModelSpec spec = parse_model(preset.toml, preset.name);
    if (spec.kind == ModelSpec::Kind::layers)
      for (const std::int64_t divisor : {4, 2, 1})
        all.push_back(
            {preset.name + ", widths/" + std::to_string(divisor), smaller_image(spec, divisor)});
    else
      for (const std::int64_t width : {32, 64, 128})
        all.push_back({preset.name + ", width " + std::to_string(width), smaller(spec, width)});
  }
  return all;
}

}  // namespace scalecalc::bench
