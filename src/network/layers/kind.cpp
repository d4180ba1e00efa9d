#include "network/layers/kind.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "network/layer_spec.hpp"

namespace scalecalc {

LayerKey list_key(const char* name) {
  return {name, 0, nullptr, [](const LayerSpec&) { return std::string(); }};
}

std::vector<LayerKey> weight_keys() {
  return {layer_key("bias", &LayerSpec::bias),
          layer_formula("gain", &LayerSpec::gain, {"N", "lambda"}),
          layer_key("std", &LayerSpec::std), layer_key("bias_std", &LayerSpec::bias_std),
          layer_key("distribution", &LayerSpec::distribution)};
}

std::vector<LayerKey> norm_keys() {
  return {layer_key("norm", &LayerSpec::norm), layer_key("eps", &LayerSpec::eps),
          layer_key("alpha", &LayerSpec::alpha), layer_key("affine", &LayerSpec::affine)};
}

std::vector<LayerKey> joined(std::initializer_list<std::vector<LayerKey>> lists) {
  std::vector<LayerKey> all;
  for (const std::vector<LayerKey>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

void check_rate(const LayerSpec& spec, const std::string& path) {
  if (spec.dropout >= 0 && spec.dropout < 1) return;
  throw layer_error(
      spec, path,
      fmt::format("a dropout rate must be at least 0 and below 1, got {}", spec.dropout),
      "for example 0.1");
}

void check_has_layers(const LayerSpec& spec, const std::string& path) {
  if (spec.layers.empty())
    throw layer_error(spec, path, "it has no layers of its own",
                      "write them below as [[layer.layers]]");
}

void check_image(const LayerSpec& spec, const std::string& path, const Shape& shape) {
  if (shape.height == 0)
    throw layer_error(spec, path, "its input is no image: " + to_string(shape),
                      "give height in [model], a divisor of sequence");
}

void check_pixels(const LayerSpec& spec, const std::string& path, const Shape& shape,
                  const std::string& hint) {
  constexpr std::int64_t most = 1000000;
  if (std::max(shape.height, shape.width) > most || shape.tokens > most)
    throw layer_error(spec, path, fmt::format("an image may have at most {} pixels", most), hint);
}

void check_kernel(const LayerSpec& spec, const std::string& path, const Shape& shape,
                  const std::string& hint) {
  if (spec.kernel > std::min(shape.height, shape.width) + 2 * spec.padding)
    throw layer_error(spec, path,
                      fmt::format("the kernel of {} is larger than the image of {} with padding {}",
                                  spec.kernel, to_string(shape), spec.padding),
                      hint);
}

}  // namespace scalecalc
