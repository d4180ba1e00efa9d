#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"
#include "network/validate.hpp"

namespace scalecalc {
namespace norm_layer {

void check(const LayerSpec& spec, const std::string& path, const ModelSpec& model) {
  if (spec.norm.value_or(model.norm) == NormKind::none)
    throw missing_key(spec, path, "norm", "\"layernorm\"");
}

void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  layout.emit({listed_norm(layout.parts(), place.spec, place.path, shape)}, out);
}

}  // namespace norm_layer

constinit const LayerKind norm_kind = {.name = "norm",
                                       .keys = norm_keys,
                                       .check = norm_layer::check,
                                       .lay_out = norm_layer::lay_out,
                                       .parts = {"alpha", "gain", "shift"}};

void visit_parts(const Norm& layer, PartVisitor& visitor) {
  ParameterInfo info;
  info.role = "norm";
  info.rows = 1;
  info.is_matrix = false;
  if (layer.kind == NormKind::dyt) {
    info.columns = 1;
    info.constant = layer.alpha;
    visitor.parameter(layer.path, Norm::alpha_index, ".alpha", info);
  }
  if (!layer.affine) return;
  info.columns = layer.width;
  info.constant = layer.gain_offset ? 0 : 1;
  visitor.parameter(layer.path, Norm::gain_index, ".gain", info);
  info.constant = 0;
  visitor.parameter(layer.path, Norm::shift_index, ".shift", info);
}

Norm listed_norm(const Parts& parts, const LayerSpec& spec, const std::string& path,
                 const Shape& shape) {
  const ModelSpec& model = parts.spec();
  const NormKind kind = spec.norm.value_or(model.norm);
  if (spec.alpha && kind != NormKind::dyt)
    throw layer_error(spec, path, "alpha is of a norm dyt, and this is " + to_string(kind),
                      "use norm = \"dyt\", or leave alpha out");
  if (spec.alpha)
    if (const auto problem = positive_problem("alpha", *spec.alpha))
      throw layer_error(spec, path, problem->message, problem->hint);
  const std::int64_t samples = kind == NormKind::layernorm      ? shape.features
                               : kind == NormKind::instancenorm ? shape.tokens
                               : kind == NormKind::batchnorm    ? shape.tokens * model.batch
                                                                : 2;
  if (samples < 2)
    throw layer_error(spec, path, to_string(kind) + " of a single number is always 0",
                      kind == NormKind::batchnorm ? "use a larger batch" : "use another norm");
  const bool affine = spec.affine.value_or(model.norm_affine);
  return {path,
          kind,
          shape.features,
          spec.eps.value_or(model.norm_eps),
          affine,
          affine && model.gain_offset,
          spec.alpha.value_or(model.norm_alpha)};
}

}  // namespace scalecalc
