#include <fmt/format.h>

#include <algorithm>

#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace {

std::vector<LayerKey> keys() {
  return {layer_key("kernel", &LayerSpec::kernel), layer_key("stride", &LayerSpec::stride),
          layer_key("padding", &LayerSpec::padding)};
}

void check(const LayerSpec& spec, const std::string& path, const ModelSpec&) {
  if (spec.kernel == 1) throw missing_key(spec, path, "kernel", "2");
  if (2 * spec.padding > spec.kernel)
    throw layer_error(spec, path,
                      fmt::format("the padding of {} is more than half of the kernel of {}",
                                  spec.padding, spec.kernel),
                      fmt::format("use padding = {}", spec.kernel / 2));
}

void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  const LayerSpec& spec = place.spec;
  if (shape.height == 0)
    throw layer_error(spec, place.path, "its input is no image: " + to_string(shape),
                      "give height in [model], a divisor of sequence");
  if (spec.kernel > std::min(shape.height, shape.width) + 2 * spec.padding)
    throw layer_error(spec, place.path,
                      fmt::format("the kernel of {} is larger than the image of {} with padding {}",
                                  spec.kernel, to_string(shape), spec.padding),
                      "use a smaller kernel");
  MaxPool layer{place.path,   shape.features, spec.kernel, spec.stride,
                spec.padding, shape.height,   shape.width};
  shape = {shape.features, layer.out_height() * layer.out_width(), layer.out_height(),
           layer.out_width()};
  layout.emit({std::move(layer)}, out);
}

}  // namespace

constinit const LayerKind max_pool_kind = {
    .name = "max_pool", .keys = keys, .check = check, .lay_out = lay_out};

void visit_parts(const MaxPool&, PartVisitor&) {}

}  // namespace scalecalc
