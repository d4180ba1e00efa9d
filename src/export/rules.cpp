#include "export/rules.hpp"

#include <fmt/format.h>

#include <map>

namespace scalecalc::export_room {
namespace {

Fill fill_of(const PlannedParameter& parameter, std::int64_t length) {
  return {length,          parameter.start,           parameter.mean,   parameter.std,
          parameter.bound, parameter.untruncated_std, parameter.formula};
}

Rule rule_of(const NamedTensor& tensor, const ModelSpec& spec, const InitPlan& plan) {
  Rule rule;
  rule.pattern = tensor.pattern;
  rule.shape = tensor.shape;
  rule.axis = tensor.axis;
  rule.may_be_absent =
      tensor.tied_to.has_value() || is_ours_alone(spec, plan.parameters[tensor.parts.front()].path);
  for (const std::size_t part : tensor.parts) {
    const PlannedParameter& parameter = plan.parameters[part];
    const bool whole = tensor.parts.size() == 1;
    rule.fills.push_back(
        fill_of(parameter,
                whole ? tensor.shape[static_cast<std::size_t>(tensor.axis)] : parameter.columns));
  }
  return rule;
}

bool alike(const Rule& a, const Rule& b) {
  return a.shape == b.shape && a.axis == b.axis && a.fills == b.fills;
}

const char* kind_name(ModelSpec::Kind kind) {
  switch (kind) {
    case ModelSpec::Kind::transformer: return "transformer";
    case ModelSpec::Kind::mlp: return "mlp";
    case ModelSpec::Kind::layers: break;
  }
  return "list of layers";
}

}  // namespace

std::vector<Rule> rules_of(const NamedPlan& plan) {
  std::vector<Rule> rules;
  std::map<std::string, std::vector<std::size_t>> of_pattern;
  for (const NamedTensor& tensor : plan.named.tensors) {
    Rule rule = rule_of(tensor, plan.spec, plan.plan);
    std::vector<std::size_t>& same = of_pattern[tensor.pattern];
    std::size_t at = rules.size();
    for (const std::size_t i : same)
      if (alike(rules[i], rule)) at = i;
    if (at == rules.size()) {
      same.push_back(at);
      rules.push_back(std::move(rule));
    }
    rules[at].indices.push_back(tensor.indices);
  }
  for (Rule& rule : rules) {
    rule.tensors = rule.indices.size();
    if (of_pattern[rule.pattern].size() == 1) rule.indices.clear();
  }
  return rules;
}

std::string summary_of(const NamedPlan& plan) {
  const ModelSpec& spec = plan.spec;
  std::string text = kind_name(spec.kind);
  if (spec.kind != ModelSpec::Kind::layers)
    text += fmt::format(", {} layers, width {}, {}", spec.layers, spec.width,
                        to_string(spec.placement));
  return text + fmt::format(", {} parameters in {} tensors", parameter_count(plan.plan.network),
                            plan.named.tensors.size());
}

}  // namespace scalecalc::export_room
