#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace linear_layer {

std::vector<LayerKey> keys() {
  return joined({{layer_key("width", &LayerSpec::width)},
                 weight_keys(),
                 {layer_key("weight_norm", &LayerSpec::weight_norm)}});
}

void check(const LayerSpec& spec, const std::string& path, const ModelSpec&) {
  if (spec.width == 0) throw missing_key(spec, path, "width", "256");
}

void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  Linear layer = listed_weight(layout.parts(), place, shape.features, place.spec.width);
  shape.features = place.spec.width;
  layout.emit({std::move(layer)}, out);
}

}  // namespace linear_layer

constinit const LayerKind linear_kind = {.name = "linear",
                                         .keys = linear_layer::keys,
                                         .check = linear_layer::check,
                                         .lay_out = linear_layer::lay_out,
                                         .parts = {"weight", "bias"}};

void visit_parts(const Linear& layer, PartVisitor& visitor) {
  ParameterInfo info;
  info.role = layer.role;
  info.rows = layer.fan_in;
  info.columns = layer.fan_out;
  info.distribution = layer.distribution;
  info.std = layer.std;
  info.in_branch = layer.in_branch;
  if (!layer.tied) visitor.parameter(layer.path, Linear::weight_index, ".weight", info);
  if (!layer.bias) return;
  info.rows = 1;
  info.distribution = Distribution::normal;
  info.std = layer.bias_std;
  info.is_matrix = false;
  visitor.parameter(layer.path, Linear::bias_index, ".bias", info);
}

Linear listed_weight(const Parts& parts, const Place& place, std::int64_t in, std::int64_t out,
                     const std::optional<SchemeFans>& fans) {
  const ModelSpec& model = parts.spec();
  const LayerSpec& spec = place.spec;
  WeightRequest request;
  request.role = place.is_head ? "head" : "linear";
  request.in = {in, Expr(in)};
  request.out = {out, Expr(out)};
  request.gain = spec.gain.value_or(role_gain(model, request.role, place.in_branch));
  request.variance = spec.std ? pow(Expr(Rational::shortest(*spec.std)), 2)
                              : scheme_variance(model, request.role, fans ? fans->in : Expr(in),
                                                fans ? fans->out : Expr(out));
  request.distribution = spec.distribution.value_or(model.init.distribution);
  request.bias = spec.bias.value_or(model.bias && !place.is_head);
  request.in_branch = place.in_branch;
  Linear layer = make_linear(model, request, parts.values());
  layer.path = place.path;
  layer.weight_norm = spec.weight_norm;
  if (spec.bias_std && layer.bias) layer.bias_std = *spec.bias_std;
  return layer;
}

}  // namespace scalecalc
