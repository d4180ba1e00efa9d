#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace {

void check(const LayerSpec& spec, const std::string& path, const ModelSpec& model) {
  if (spec.norm.value_or(model.norm) == NormKind::none)
    throw missing_key(spec, path, "norm", "\"layernorm\"");
}

void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  layout.emit({listed_norm(layout.parts(), place.spec, place.path, shape)}, out);
}

}  // namespace

constinit const LayerKind norm_kind = {.name = "norm",
                                       .keys = norm_keys,
                                       .check = check,
                                       .lay_out = lay_out,
                                       .parts = {"gain", "shift"}};

void visit_parts(const Norm& layer, PartVisitor& visitor) {
  if (!layer.affine) return;
  ParameterInfo info;
  info.role = "norm";
  info.rows = 1;
  info.columns = layer.width;
  info.is_matrix = false;
  info.constant = layer.gain_offset ? 0 : 1;
  visitor.parameter(layer.path, Norm::gain_index, ".gain", info);
  info.constant = 0;
  visitor.parameter(layer.path, Norm::shift_index, ".shift", info);
}

Norm listed_norm(const Parts& parts, const LayerSpec& spec, const std::string& path,
                 const Shape& shape) {
  const ModelSpec& model = parts.spec();
  const NormKind kind = spec.norm.value_or(model.norm);
  const std::int64_t samples = kind == NormKind::layernorm      ? shape.features
                               : kind == NormKind::instancenorm ? shape.tokens
                               : kind == NormKind::batchnorm    ? shape.tokens * model.batch
                                                                : 2;
  if (samples < 2)
    throw layer_error(spec, path, to_string(kind) + " of a single number is always 0",
                      kind == NormKind::batchnorm ? "use a larger batch" : "use another norm");
  const bool affine = spec.affine.value_or(model.norm_affine);
  return {path,           kind,
          shape.features, spec.eps.value_or(model.norm_eps),
          affine,         affine && model.gain_offset};
}

}  // namespace scalecalc
