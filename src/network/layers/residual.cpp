#include <fmt/format.h>

#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace residual_layer {

std::vector<LayerKey> keys() {
  const std::vector<std::string> symbols = {"N", "alpha", "lambda"};
  return joined(
      {norm_keys(),
       {layer_formula("skip", &LayerSpec::skip, symbols),
        layer_formula("branch", &LayerSpec::branch, symbols),
        layer_key("trainable", &LayerSpec::trainable), layer_key("factors", &LayerSpec::width),
        list_key("layers"), list_key("shortcut")}});
}

void check(const LayerSpec& spec, const std::string& path, const ModelSpec&) {
  check_has_layers(spec, path);
  if (spec.width != 0 && !spec.trainable)
    throw layer_error(spec, path, "factors are of a trainable branch", "add trainable = true");
}

void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  const LayerSpec& spec = place.spec;
  const Parts& parts = layout.parts();
  Residual layer;
  layer.path = place.path;
  layer.skip = evaluate(spec.skip, parts.values());
  layer.branch = evaluate(spec.branch, parts.values());
  layer.skip_formula = spec.skip;
  layer.branch_formula = spec.branch;
  layer.trainable_branch = spec.trainable;
  Shape skip = shape;
  layout.list(spec.layers, place.path + ".", shape, true, layer.body);
  layout.list(spec.shortcut, place.path + ".shortcut.", skip, false, layer.shortcut);
  if (!(skip == shape))
    throw layer_error(
        spec, place.path,
        fmt::format("the branch gives {}, the skip {}", to_string(shape), to_string(skip)),
        "make them equal, or add a [[...shortcut]] that does");
  if (spec.width > 1 && spec.width != shape.features)
    throw layer_error(spec, place.path,
                      fmt::format("it has {} factors, and {} features", spec.width, shape.features),
                      fmt::format("use factors = {}, or 1 for all", shape.features));
  if (spec.width > 1) layer.scale_features = spec.width;
  if (spec.norm && *spec.norm != NormKind::none)
    layer.norm = listed_norm(parts, spec, place.path + ".norm", shape);
  layout.emit({std::move(layer)}, out);
}

}  // namespace residual_layer

constinit const LayerKind residual_kind = {.name = "residual",
                                           .keys = residual_layer::keys,
                                           .check = residual_layer::check,
                                           .lay_out = residual_layer::lay_out,
                                           .parts = {"scale", "shortcut"}};

void visit_parts(const Residual& layer, PartVisitor& visitor) {
  visitor.list(layer.body);
  if (layer.trainable_branch) {
    ParameterInfo info;
    info.role = "scale";
    info.rows = 1;
    info.columns = layer.scale_features;
    info.constant = layer.branch;
    info.is_matrix = false;
    visitor.parameter(layer.path, Residual::scale_index, ".scale", info);
  }
  visitor.list(layer.shortcut);
  if (layer.norm) visitor.member(*layer.norm);
}

}  // namespace scalecalc
