#include "export/code_plan.hpp"

#include <fmt/format.h>

#include "export/settings.hpp"

namespace scalecalc::export_room {
namespace {

FilledTensor filled(const NamedTensor& tensor, const NamedPlan& plan) {
  const std::vector<PlannedParameter>& parameters = plan.plan.parameters;
  FilledTensor filled{tensor.name, tensor.pattern, tensor.indices, tensor.shape,
                      tensor.axis, false,          std::nullopt,   {}};
  filled.may_be_absent =
      tensor.tied_to.has_value() || is_ours_alone(plan.spec, parameters[tensor.parts.front()].path);
  const std::int64_t whole = tensor.shape[static_cast<std::size_t>(tensor.axis)];
  for (const std::size_t part : tensor.parts)
    filled.fills.push_back(
        fill_of(parameters[part], tensor.parts.size() == 1 ? whole : parameters[part].columns));
  return filled;
}

const char* kind_name(ModelSpec::Kind kind) {
  switch (kind) {
    case ModelSpec::Kind::transformer: return "transformer";
    case ModelSpec::Kind::mlp: return "mlp";
    case ModelSpec::Kind::layers: break;
  }
  return "list of layers";
}

std::vector<double> numbers_of(const PlannedParameter& parameter) {
  switch (parameter.start) {
    case Start::normal: return {parameter.mean, parameter.std};
    case Start::uniform: return {-parameter.bound, parameter.bound};
    case Start::truncated_normal:
      return {parameter.untruncated_std, -parameter.bound, parameter.bound};
    case Start::orthogonal: return {parameter.std};
    case Start::zeros:
    case Start::ones:
    case Start::constant: break;
  }
  return {parameter.mean};
}

}  // namespace

Fill fill_of(const PlannedParameter& parameter, std::int64_t length) {
  return {length, to_string(parameter.start), numbers_of(parameter),
          parameter.std > 0 ? parameter.std : parameter.mean, parameter.formula};
}

std::string summary_of(const NamedPlan& plan) {
  const ModelSpec& spec = plan.spec;
  std::string text = kind_name(spec.kind);
  if (spec.kind != ModelSpec::Kind::layers)
    text += fmt::format(", {}{} layers, width {}, {}", spec.layers,
                        spec.encoder_decoder ? fmt::format(" + {}", decoder_depth(spec)) : "",
                        spec.width, to_string(spec.placement));
  return text + fmt::format(", {} parameters in {} tensors", parameter_count(plan.plan.network),
                            plan.named.tensors.size());
}

CodePlan code_plan(const NamedPlan& plan) {
  CodePlan code;
  code.model = plan.model;
  code.summary = summary_of(plan);
  for (const NamedTensor& tensor : plan.named.tensors) code.tensors.push_back(filled(tensor, plan));
  code.scales = plan.plan.scales;
  code.prefixes = plan.naming.prefixes;
  code.extras = plan.naming.extras;
  for (const std::size_t index : plan.named.unnamed)
    code.unnamed.push_back(plan.plan.parameters[index].path);
  return code;
}

}  // namespace scalecalc::export_room
