#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace conv2d_layer {

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

void check_transposed(const LayerSpec& spec, const std::string& path, const ModelSpec& model) {
  check(spec, path, model);
  if (spec.output_padding != 0 && spec.output_padding >= spec.stride)
    throw layer_error(spec, path,
                      fmt::format("an output_padding of {} is not less than the stride of {}",
                                  spec.output_padding, spec.stride),
                      fmt::format("use output_padding = {}", spec.stride - 1));
}

std::vector<LayerKey> transposed_keys() {
  std::vector<LayerKey> all = keys();
  const auto groups = std::find_if(all.begin(), all.end(), [](const LayerKey& key) {
    return std::string_view(key.name) == "groups";
  });
  all.insert(groups, layer_key("output_padding", &LayerSpec::output_padding));
  return all;
}

void check_groups(const LayerSpec& spec, const std::string& path, const Shape& shape) {
  if (shape.features % spec.groups != 0 || spec.width % spec.groups != 0)
    throw layer_error(spec, path,
                      fmt::format("groups must divide the channels (groups {}, channels {} to {})",
                                  spec.groups, shape.features, spec.width),
                      "use groups = 1");
}

std::string enough_padding(const LayerSpec& spec) {
  return fmt::format("use padding = {}", spec.kernel / 2);
}

/// Of this image and the spec's kernel, stride and padding, which give the size of the output; what
/// is transposed or one row is for the caller to say.
Conv2d over_image(const LayerSpec& spec, std::int64_t height, std::int64_t width) {
  Conv2d layer;
  layer.height = height;
  layer.width = width;
  layer.kernel = spec.kernel;
  layer.stride = spec.stride;
  layer.padding = spec.padding;
  return layer;
}

/// Fan-in taps in/groups, fan-out taps out/(groups strides), the strides along all sides that the
/// kernel has; of a transposed one the fan-in is divided: docs/theory/layers.md#conv-fans.
void lay_out(ListLayout& layout, const Place& place, Shape& shape, Conv2d layer,
             std::vector<Layer>& out) {
  const LayerSpec& spec = place.spec;
  layer.path = place.path;
  layer.in_channels = shape.features;
  layer.out_channels = spec.width;
  layer.groups = spec.groups;
  const std::int64_t strides = layer.one_row ? spec.stride : spec.stride * spec.stride;
  shape = {spec.width, layer.out_height() * layer.out_width(), layer.out_height(),
           layer.out_width()};
  check_pixels(spec, place.path, shape,
               layer.transposed ? "use a smaller stride" : "use less padding");
  // What an output reads and what an input is read by, of which strides skip one.
  const Expr read_by = Expr(layer.taps()) * Expr(spec.width) / Expr(spec.groups),
             reads = Expr(layer.taps()) * Expr(layer.in_channels) / Expr(spec.groups);
  const SchemeFans fans = layer.transposed ? SchemeFans{reads / Expr(strides), read_by}
                                           : SchemeFans{reads, read_by / Expr(strides)};
  layer.weight = listed_weight(layout.parts(), place,
                               layer.taps() * (layer.in_channels / spec.groups), spec.width, fans);
  layout.emit({std::move(layer)}, out);
}

void lay_out_image(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  check_image(place.spec, place.path, shape);
  check_groups(place.spec, place.path, shape);
  check_kernel(place.spec, place.path, shape, enough_padding(place.spec));
  lay_out(layout, place, shape, over_image(place.spec, shape.height, shape.width), out);
}

void lay_out_transposed(ListLayout& layout, const Place& place, Shape& shape,
                        std::vector<Layer>& out) {
  const LayerSpec& spec = place.spec;
  check_image(spec, place.path, shape);
  check_groups(spec, place.path, shape);
  Conv2d layer = over_image(spec, shape.height, shape.width);
  layer.transposed = true;
  layer.output_padding = spec.output_padding;
  const std::int64_t side = std::min(shape.height, shape.width);
  if ((side - 1) * spec.stride + spec.kernel + spec.output_padding <= 2 * spec.padding)
    throw layer_error(
        spec, place.path,
        fmt::format("nothing is left of {} with padding {}", to_string(shape), spec.padding),
        enough_padding(spec));
  // Their product, once each is known to be no overflow.
  check_pixels(spec, place.path, {0, 1, layer.out_height(), layer.out_width()},
               "use a smaller stride");
  lay_out(layout, place, shape, std::move(layer), out);
}

/// The tokens are one row, whatever stood there before; as many as there were stay the image that
/// they were.
void lay_out_row(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  const LayerSpec& spec = place.spec;
  check_groups(spec, place.path, shape);
  if (spec.kernel > shape.tokens + 2 * spec.padding)
    throw layer_error(spec, place.path,
                      fmt::format("the kernel of {} is longer than {} tokens with padding {}",
                                  spec.kernel, shape.tokens, spec.padding),
                      enough_padding(spec));
  Conv2d layer = over_image(spec, 1, shape.tokens);
  layer.one_row = true;
  const Shape before = shape;
  lay_out(layout, place, shape, std::move(layer), out);
  const bool stays = shape.tokens == before.tokens;
  shape.height = stays ? before.height : 0;
  shape.width = stays ? before.width : 0;
}

}  // namespace conv2d_layer

constinit const LayerKind conv2d_kind = {.name = "conv2d",
                                         .keys = conv2d_layer::keys,
                                         .check = conv2d_layer::check,
                                         .lay_out = conv2d_layer::lay_out_image};
constinit const LayerKind conv1d_kind = {.name = "conv1d",
                                         .keys = conv2d_layer::keys,
                                         .check = conv2d_layer::check,
                                         .lay_out = conv2d_layer::lay_out_row};
constinit const LayerKind conv_transpose2d_kind = {.name = "conv_transpose2d",
                                                   .keys = conv2d_layer::transposed_keys,
                                                   .check = conv2d_layer::check_transposed,
                                                   .lay_out = conv2d_layer::lay_out_transposed};

void visit_parts(const Conv2d& layer, PartVisitor& visitor) {
  visitor.member(layer.weight);
}

}  // namespace scalecalc
