#include "scalecalc/export.hpp"

#include <array>

#include "export/python.hpp"
#include "export/settings.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace {

struct TargetName {
  Target target;
  const char* name;
  const char* naming;  ///< when the model has none
};
constexpr std::array<TargetName, 6> targets = {{{Target::pytorch, "pytorch", "torch"},
                                                {Target::flax, "flax", "flax"},
                                                {Target::keras, "keras", "keras"},
                                                {Target::megatron, "megatron", "scalecalc"},
                                                {Target::hf, "hf", "scalecalc"},
                                                {Target::c, "c", "scalecalc"}}};

bool names_trees(Target target) {
  return target == Target::flax || target == Target::keras;
}

}  // namespace

const std::vector<std::string>& target_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const TargetName& target : targets) all.emplace_back(target.name);
    return all;
  }();
  return names;
}

Target target_from(std::string_view name, const std::string& where) {
  for (const TargetName& target : targets)
    if (target.name == name) return target.target;
  throw unknown_name("target", name, target_names(), where);
}

std::string default_naming(Target target) {
  return targets[static_cast<std::size_t>(target)].naming;
}

NamedPlan named_plan(const ModelSpec& spec, const std::string& model,
                     const std::optional<Target>& target, const std::string& names) {
  NamedPlan plan{spec, model, init_plan(spec), {}, {}};
  ModelSpec named = spec;
  const std::string otherwise = target ? default_naming(*target) : "scalecalc";
  if (!names.empty())
    named.init.names = asked_naming(spec, names);
  else if (target && names_trees(*target))
    named.init.names = otherwise;
  plan.naming = naming_of(named, otherwise);
  plan.named = name_parameters(plan.plan.network, plan.naming);
  return plan;
}

std::string export_text(const NamedPlan& plan, Target target, const ExportOptions& options) {
  switch (target) {
    case Target::pytorch: return export_room::pytorch_text(export_room::code_plan(plan), options);
    case Target::flax: return export_room::flax_text(export_room::code_plan(plan), options);
    case Target::keras: return export_room::keras_text(export_room::code_plan(plan), options);
    case Target::megatron: return export_room::megatron_text(plan);
    case Target::hf: return export_room::hf_text(plan);
    case Target::c: break;
  }
  return export_room::c_text(plan);
}

std::string export_text(const LibraryPlan& plan, const ExportOptions& options) {
  return export_room::pytorch_text(export_room::code_plan(plan), options);
}

}  // namespace scalecalc
