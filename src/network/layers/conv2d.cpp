#include <fmt/format.h>

#include <algorithm>

#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace {

constexpr std::int64_t max_tokens = 1000000;

std::vector<LayerKey> keys() {
  return joined(
      {{layer_key("channels", &LayerSpec::width), layer_key("kernel", &LayerSpec::kernel),
        layer_key("stride", &LayerSpec::stride), layer_key("padding", &LayerSpec::padding),
        layer_key("groups", &LayerSpec::groups)},
       weight_keys(),
       {layer_key("weight_norm", &LayerSpec::weight_norm)}});
}

void check(const LayerSpec& spec, const std::string& path, const ModelSpec&) {
  if (spec.width == 0) throw missing_key(spec, path, "channels", "64");
}

void check_fit(const LayerSpec& spec, const std::string& path, const Shape& shape) {
  check_image(spec, path, shape);
  if (shape.features % spec.groups != 0 || spec.width % spec.groups != 0)
    throw layer_error(spec, path,
                      fmt::format("groups must divide the channels (groups {}, channels {} to {})",
                                  spec.groups, shape.features, spec.width),
                      "use groups = 1");
  check_kernel(spec, path, shape, fmt::format("use padding = {}", spec.kernel / 2));
}

/// Fan-in kernel^2 in/groups, fan-out kernel^2 out/(groups stride^2):
/// docs/theory/layers.md#conv-fans.
void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  const LayerSpec& spec = place.spec;
  check_fit(spec, place.path, shape);
  Conv2d layer;
  layer.path = place.path;
  layer.in_channels = shape.features;
  layer.out_channels = spec.width;
  layer.kernel = spec.kernel;
  layer.stride = spec.stride;
  layer.padding = spec.padding;
  layer.groups = spec.groups;
  layer.height = shape.height;
  layer.width = shape.width;
  shape = {spec.width, layer.out_height() * layer.out_width(), layer.out_height(),
           layer.out_width()};
  if (std::max(shape.height, shape.width) > max_tokens || shape.tokens > max_tokens)
    throw layer_error(spec, place.path,
                      fmt::format("an image may have at most {} pixels", max_tokens),
                      "use less padding");
  const Expr area = Expr(spec.kernel) * Expr(spec.kernel);
  layer.weight = listed_weight(
      layout.parts(), place, spec.kernel * spec.kernel * (layer.in_channels / spec.groups),
      spec.width,
      area * Expr(spec.width) / (Expr(spec.groups) * Expr(spec.stride) * Expr(spec.stride)));
  layout.emit({std::move(layer)}, out);
}

}  // namespace

constinit const LayerKind conv2d_kind = {
    .name = "conv2d", .keys = keys, .check = check, .lay_out = lay_out};

void visit_parts(const Conv2d& layer, PartVisitor& visitor) {
  visitor.member(layer.weight);
}

}  // namespace scalecalc
