#include <fmt/format.h>

#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace upsample_layer {

constexpr std::int64_t most_times = 64;

std::vector<LayerKey> keys() {
  return {layer_key("factor", &LayerSpec::factor)};
}

void check(const LayerSpec& spec, const std::string& path, const ModelSpec&) {
  if (spec.factor < 1 || spec.factor > most_times)
    throw layer_error(spec, path,
                      fmt::format("factor must be from 1 to {}, got {}", most_times, spec.factor),
                      "for example factor = 2");
}

void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  check_image(place.spec, place.path, shape);
  Upsample layer{place.path, shape.features, place.spec.factor, shape.height, shape.width};
  shape = {shape.features, layer.out_height() * layer.out_width(), layer.out_height(),
           layer.out_width()};
  check_pixels(place.spec, place.path, shape, "use a smaller factor");
  layout.emit({std::move(layer)}, out);
}

}  // namespace upsample_layer

constinit const LayerKind upsample_kind = {.name = "upsample",
                                           .keys = upsample_layer::keys,
                                           .check = upsample_layer::check,
                                           .lay_out = upsample_layer::lay_out};

void visit_parts(const Upsample&, PartVisitor&) {}

}  // namespace scalecalc
