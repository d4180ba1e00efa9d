#include "export/code_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "export/settings.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::export_room {
namespace {

/// A framework steps a tensor as a whole.
StepFactors step_of(const NamedTensor& tensor, const NamedPlan& plan) {
  const StepFactors step = plan.steps[tensor.parts.front()];
  for (const std::size_t part : tensor.parts)
    if (!(plan.steps[part] == step))
      throw Error(ErrorKind::input,
                  tensor.name + " holds parameters whose learning rates, decay or eps differ",
                  "--transfer-from", "choose --names that have a tensor for each of them");
  return step;
}

/// Of a tensor that the library ties. One that the plan does not tie has a multiplier of its own
/// once it is transferred: a model without it lacks that.
bool is_another_name(const NamedTensor& tensor, const NamedPlan& plan) {
  if (!tensor.tied_to || plan.steps.empty()) return tensor.tied_to.has_value();
  return std::ranges::any_of(plan.named.tensors, [&](const NamedTensor& other) {
    return other.name == *tensor.tied_to && other.parts == tensor.parts;
  });
}

FilledTensor filled(const NamedTensor& tensor, const NamedPlan& plan) {
  const std::vector<PlannedParameter>& parameters = plan.plan.parameters;
  FilledTensor filled{tensor.name, tensor.pattern, tensor.indices, tensor.shape,
                      tensor.axis, false,          std::nullopt,   {}};
  filled.may_be_absent = is_another_name(tensor, plan) ||
                         is_ours_alone(plan.spec, parameters[tensor.parts.front()].path);
  const std::int64_t whole = tensor.shape[static_cast<std::size_t>(tensor.axis)];
  for (const std::size_t part : tensor.parts)
    filled.fills.push_back(
        fill_of(parameters[part], tensor.parts.size() == 1 ? whole : parameters[part].columns));
  repeat_rounds(filled, tensor.rounds);
  if (!plan.steps.empty()) filled.step = step_of(tensor, plan);
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

void repeat_rounds(FilledTensor& tensor, std::int64_t rounds) {
  if (rounds == 1) return;
  std::vector<Fill> round;
  round.swap(tensor.fills);
  std::int64_t whole = 0;
  for (Fill& fill : round) {
    if (fill.start == to_string(Start::orthogonal))
      throw Error(
          ErrorKind::input,
          fmt::format("{} holds shares of several matrices in turn, each of them orthogonal "
                      "as a whole: code fills no such tensor",
                      tensor.name),
          "--target", "--weights draws it; --names torch has a tensor for each matrix");
    whole += fill.length;
    fill.length /= rounds;
  }
  const bool alike = std::all_of(round.begin(), round.end(), [&](Fill fill) {
    fill.length = round.front().length;
    return fill == round.front();
  });
  if (alike) {
    round.front().length = whole;
    tensor.fills = {round.front()};
    return;
  }
  for (std::int64_t i = 0; i < rounds; ++i)
    tensor.fills.insert(tensor.fills.end(), round.begin(), round.end());
}

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
  code.transfer = plan.transfer;
  for (const std::size_t index : plan.named.unnamed)
    code.unnamed.push_back(plan.plan.parameters[index].path);
  return code;
}

}  // namespace scalecalc::export_room
