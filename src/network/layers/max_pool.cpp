#include <fmt/format.h>

#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace max_pool_layer {

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
  check_image(spec, place.path, shape);
  check_kernel(spec, place.path, shape, "use a smaller kernel");
  MaxPool layer{place.path,   shape.features, spec.kernel, spec.stride,
                spec.padding, shape.height,   shape.width};
  shape = {shape.features, layer.out_height() * layer.out_width(), layer.out_height(),
           layer.out_width()};
  layout.emit({std::move(layer)}, out);
}

}  // namespace max_pool_layer

constinit const LayerKind max_pool_kind = {.name = "max_pool",
                                           .keys = max_pool_layer::keys,
                                           .check = max_pool_layer::check,
                                           .lay_out = max_pool_layer::lay_out};

void visit_parts(const MaxPool&, PartVisitor&) {}

}  // namespace scalecalc
