#include "cli/audit/rules.hpp"

#include <algorithm>

#include "cli/standard_input.hpp"
#include "cli/value_type.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/export.hpp"
#include "scalecalc/graphs.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc::cli {
namespace {

/// What is known of the weights: models of a library that they may be of, or one that is given in
/// the program's words.
struct Known {
  std::vector<LibraryModel> libraries;
  bool recognised = false;
};

/// The model of a library whose tensors a graph has, all of them.
std::optional<LibraryModel> recognised_graph(const std::string& path) {
  try {
    const std::vector<LibraryModel> models = recognise_weights(path);
    if (models.front().unlike.empty()) return models.front();
  } catch (const Error&) {  // of none: the graph says what it is
  }
  return std::nullopt;
}

Known known_of(const ModelArgument& given, AuditAnswer& answer) {
  answer.model = given.model;
  if (given.model.empty() && is_config(answer.weights)) answer.model = answer.weights;
  if (given.model.empty() && is_graph(answer.weights)) {
    if (const auto library = recognised_graph(answer.weights)) return {{*library}, true};
    answer.model = answer.weights;
  }
  if (!answer.model.empty()) {
    if (const auto library = read_config_argument(answer.model)) return {{*library}, false};
    return {};
  }
  return {recognise_weights(answer.weights), true};
}

bool is_of_transformers(const LibraryModel& model) {
  return model.library.starts_with("transformers");
}

/// The rules that are not taken, for --against.
std::vector<std::string> offers(const Known& known, const std::string& taken) {
  std::vector<std::string> names;
  if (!known.libraries.empty()) {
    const LibraryModel& model = known.libraries.front();
    names.emplace_back("library");
    for (const LibraryVariant& variant : model.variants) names.push_back(variant.name);
  }
  if (known.libraries.empty() || known.libraries.front().spec) {
    names.emplace_back("model");
    names.emplace_back("derived");
  }
  std::erase(names, taken == "hf" ? "library" : taken);
  return names;
}

[[noreturn]] void fail(const std::string& against, const Known& known, const std::string& why) {
  throw Error(ErrorKind::input, why, "--against " + against,
              "rules of this model: " + alternatives(offers(known, "")));
}

/// The models with the rules that are asked for.
std::vector<LibraryModel> with_rules(const Known& known, const std::string& against) {
  if (known.libraries.empty())
    fail(against, known, "these are rules of a library, and the model is none of a config.json");
  std::vector<LibraryModel> models = known.libraries;
  if (against == "library") return models;
  if (against == "hf")
    std::erase_if(models, [](const LibraryModel& model) { return !is_of_transformers(model); });
  std::vector<LibraryModel> others;
  for (LibraryModel& model : models) {
    if (against == "hf") {
      others.push_back(std::move(model));
      continue;
    }
    for (const LibraryVariant& variant : model.variants) {
      if (variant.name != against) continue;
      LibraryModel other = model;
      other.tensors = variant.tensors;
      other.library = variant.title;
      others.push_back(std::move(other));
    }
  }
  if (others.empty())
    fail(against, known, "there are no such rules of " + known.libraries.front().architecture);
  return others;
}

/// The model in the program's words, with the options that are given.
ModelSpec spec_of(const ModelArgument& given, const std::string& model, const Known& known,
                  bool without_init) {
  ModelSpec spec =
      known.libraries.empty() ? read_model_argument(model) : described(known.libraries.front());
  if (without_init) {
    ModelSpec::Init derived;
    derived.names = spec.init.names;
    spec.init = derived;
  }
  if (given.options.any()) given.options.apply_to(spec);
  if (has_open_scales(spec)) solve_scales(spec);
  return spec;
}

/// The library's model with the options that are given; none where it cannot follow them.
std::optional<LibraryModel> with_options(const ModelArgument& given, const Known& known) {
  const LibraryModel& library = known.libraries.front();
  if (!library.spec) described(library);
  const ModelSpec spec = spec_of(given, given.model, known, false);
  const std::optional<LibraryPlan> plan = library_plan(library, given.given(), &spec);
  if (!plan) return std::nullopt;
  return library_model(*plan);
}

}  // namespace

std::vector<std::string> rules_to_judge_by() {
  return {"library", "hf", "openai", "model", "derived"};
}

void judge_weights(const ModelArgument& given, const std::string& against, AuditAnswer& answer) {
  const Known known = known_of(given, answer);
  answer.recognised = known.recognised;
  answer.against = against;
  std::optional<LibraryModel> changed;
  if (!known.libraries.empty() && given.options.any() && (against.empty() || against == "library"))
    changed = with_options(given, known);
  if (against.empty()) {
    const bool is_library = !known.libraries.empty() && answer.options.names.empty() &&
                            (changed || !given.options.any());
    answer.against = is_library ? "library" : "model";
  }
  answer.others = offers(known, answer.against);
  if (answer.against == "model" || answer.against == "derived") {
    answer.spec = spec_of(given, answer.model, known, answer.against == "derived");
    if (answer.model.empty()) answer.model = answer.weights;
    answer.audit = audit(answer.weights, answer.spec, answer.options);
    return;
  }
  if (given.options.any() && !changed)
    throw Error(ErrorKind::usage,
                answer.against == "library"
                    ? "no keys of the config say what the options of the model change"
                    : "options of a model change the rules of its library alone",
                "--against " + answer.against, "leave them out, or give --against model");
  std::vector<LibraryModel> models =
      changed ? std::vector{*changed} : with_rules(known, answer.against);
  answer.audit = audit(answer.weights, models, answer.options);
  answer.library = models.front();
  for (std::size_t i = 1; i < models.size(); ++i)
    answer.less_likely.push_back(models[i].architecture);
}

}  // namespace scalecalc::cli
