#include "cli/transfer/document.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace scalecalc::cli {
namespace {

using report::Facts;
using report::Section;
using report::Table;
using report::Value;

Value exponents_value(const Exponents& exponents) {
  Value object = Value::object();
  for (std::size_t i = 0; i < growth_axes; ++i) {
    const auto axis = static_cast<GrowthAxis>(i);
    object[ratio_symbol(axis)] = exponents[axis].to_string();
  }
  return object;
}

Value formula_value(const Exponents& exponents) {
  return Value::Formula{exponents.formula(), exponents.latex()};
}

Value law_value(const Exponents& exponents) {
  Value object = Value::object();
  object["formula"] = exponents.formula();
  object["exponents"] = exponents_value(exponents);
  return object;
}

Value texts(const std::vector<std::string>& lines) {
  Value list = Value::array();
  for (const std::string& line : lines) list.push_back(line);
  return list;
}

Value axis_names(const std::vector<GrowthAxis>& axes) {
  Value list = Value::array();
  for (const GrowthAxis axis : axes) list.push_back(to_string(axis));
  return list;
}

/// The tensors that have the same numbers, under one name.
struct Group {
  std::string key;
  const TensorTransfer* numbers;
  std::vector<std::string> tensors;
};

bool same_numbers(const TensorTransfer& a, const TensorTransfer& b) {
  return a.multiplier == b.multiplier && a.std == b.std && a.lr == b.lr && a.decay == b.decay &&
         a.eps == b.eps && a.one_minus_beta == b.one_minus_beta && a.rule == b.rule;
}

/// The kind; "outside_KIND" of what stands in no branch where others of the kind do, "expert_KIND"
/// of what there is one of in each expert, "fixed_KIND" of branches whose number is the same at
/// every depth.
std::string key_of(const TransferTensor& tensor, const TransferModel& model) {
  const bool may_differ = tensor.kind == TensorKind::hidden || tensor.kind == TensorKind::bias ||
                          tensor.kind == TensorKind::norm_gain;
  const bool outside = may_differ && model.has_branches && !tensor.in_branch;
  const bool expert = !tensor.copies[GrowthAxis::experts].is_zero();
  const bool fixed = tensor.in_branch && !tensor.repeats;
  return (outside  ? "outside_"
          : expert ? "expert_"
          : fixed  ? "fixed_"
                   : "") +
         to_string(tensor.kind);
}

/// What tells a tensor from others of its kind: its role, where that says more than the kind, or
/// the end of its path; the stage of a list.
std::string mark_of(const TransferTensor& tensor) {
  const std::string& name = tensor.name;
  if (tensor.is_tied) return "tied";
  if (tensor.role == to_string(tensor.kind) || tensor.role == "norm" || tensor.role == "linear") {
    const std::size_t dot = name.find('.');
    const bool is_table = tensor.kind == TensorKind::embedding && dot != std::string::npos;
    return is_table ? name.substr(dot + 1) : name.substr(0, dot);
  }
  return tensor.role;
}

/// Kinds in the order of the forward pass; what differs within one gets its role behind a dot.
std::vector<Group> groups_of(const TransferAnswer& answer) {
  std::vector<Group> groups;
  for (const TensorTransfer& tensor : answer.solution.tensors) {
    const std::string kind = key_of(tensor.tensor, answer.problem.model);
    const std::string plain = to_string(tensor.tensor.kind);
    const auto is_like = [&](const Group& group) {
      return (group.key == kind || group.key == plain || group.key.starts_with(kind + ".")) &&
             same_numbers(*group.numbers, tensor);
    };
    auto found = std::ranges::find_if(groups, is_like);
    if (found == groups.end()) {
      std::string key = kind;
      const auto is_taken = [&](const Group& group) { return group.key == key; };
      const std::string mark = mark_of(tensor.tensor);
      if (std::ranges::any_of(groups, is_taken)) key += "." + mark;
      for (int next = 2; std::ranges::any_of(groups, is_taken); ++next)
        key = fmt::format("{}.{}{}", kind, mark, next);
      groups.push_back({key, &tensor, {}});
      found = groups.end() - 1;
    }
    found->tensors.push_back(tensor.tensor.name);
  }
  return groups;
}

/// One of the numbers of a tensor, by the names of JSON.
struct Number {
  const char* name;
  std::optional<Exponents> law;
  std::optional<double> base;
};
std::vector<Number> numbers_of(const std::string& path, const TensorTransfer& tensor,
                               const TransferAnswer& answer) {
  std::optional<double> std;
  auto found = answer.base_stds.find(path);
  if (found == answer.base_stds.end()) found = answer.base_stds.find(tensor.tensor.name);
  if (found != answer.base_stds.end()) std = found->second;
  return {{"multiplier", tensor.multiplier, {}}, {"std", tensor.std, std},
          {"lr", tensor.lr, answer.lr},          {"decay", tensor.decay, answer.decay},
          {"eps", tensor.eps, answer.eps},       {"one_minus_beta", tensor.one_minus_beta, {}}};
}

Value number_value(const Number& number, const TransferAnswer& answer) {
  if (!number.law) return {};
  Value value = law_value(*number.law);
  if (!answer.sizes) return value;
  const double factor = number.law->at(answer.sizes->ratios);
  value["factor"] = factor;
  if (number.base) {
    value["from"] = *number.base;
    value["to"] = *number.base * factor;
  }
  return value;
}

Value tensor_value(const TensorTransfer& tensor, const TransferAnswer& answer) {
  Value value = Value::object();
  for (const Number& number : numbers_of(tensor.tensor.name, tensor, answer))
    value[number.name] = number_value(number, answer);
  value["rule"] = tensor.rule;
  value["gradient"] = law_value(tensor.gradient);
  Value practice = law_value(tensor.standard_excess);
  if (answer.sizes) practice["factor"] = tensor.standard_excess.at(answer.sizes->ratios);
  value["standard_excess"] = std::move(practice);
  return value;
}

Value kinds_value(const std::vector<Group>& groups, const TransferAnswer& answer) {
  Value kinds = Value::object();
  for (const Group& group : groups) {
    Value value = tensor_value(*group.numbers, answer);
    value["tensors"] = texts(group.tensors);
    kinds[group.key] = std::move(value);
  }
  return kinds;
}

Value parameters_value(const TransferAnswer& answer) {
  Value list = Value::array();
  const auto add = [&](const std::string& path, const TensorTransfer& tensor) {
    Value value = Value::object();
    value["path"] = path;
    value["kind"] = to_string(tensor.tensor.kind);
    value["in_branch"] = tensor.tensor.in_branch;
    for (const Number& number : numbers_of(path, tensor, answer))
      value[number.name] = number_value(number, answer);
    list.push_back(std::move(value));
  };
  if (!answer.all.empty()) {
    for (const auto& [path, index] : answer.all) add(path, answer.solution.tensors[index]);
  } else if (!answer.model.empty()) {
    for (const TensorTransfer& tensor : answer.solution.tensors) add(tensor.tensor.name, tensor);
  }
  return list;
}

Value bindings_value(const std::vector<TransferBinding>& bindings) {
  Value list = Value::array();
  for (const TransferBinding& binding : bindings) {
    Value value = Value::object();
    value["tensor"] = binding.tensor;
    value["quantity"] = binding.quantity;
    value["axis"] = to_string(binding.axis);
    value["bound"] = binding.bound;
    value["equation"] = binding.equation;
    value["holds"] = binding.holds;
    list.push_back(std::move(value));
  }
  return list;
}

Value sizes_value(const std::vector<std::pair<GrowthAxis, double>>& sizes) {
  Value object = Value::object();
  for (const auto& [axis, size] : sizes) object[to_string(axis)] = size;
  return object;
}

Value optional_number(const std::optional<double>& number) {
  return number ? Value(*number) : Value();
}

Value inputs_of(const TransferAnswer& answer) {
  Value inputs = Value::object();
  inputs["model"] = answer.model.empty() ? Value() : Value(answer.model);
  inputs["optimizer"] = answer.problem.optimizer.name;
  inputs["muon_scale"] = answer.muon_scale;
  inputs["parametrization"] = answer.problem.parametrization.name;
  inputs["alignment"] = to_string(answer.problem.alignment);
  inputs["axes"] = axis_names(answer.problem.axes);
  inputs["decay_law"] = answer.decay_law;
  inputs["from"] = answer.sizes ? sizes_value(answer.sizes->from) : Value();
  inputs["to"] = answer.sizes ? sizes_value(answer.sizes->to) : Value();
  inputs["lr"] = optional_number(answer.lr);
  inputs["decay"] = optional_number(answer.decay);
  inputs["eps"] = optional_number(answer.eps);
  return inputs;
}

Value criteria_value(const std::optional<BranchCriteria>& criteria) {
  if (!criteria) return {};
  Value value = Value::object();
  value["feature_change"] = law_value(criteria->feature_change);
  value["loss_change"] = criteria->loss_change ? law_value(*criteria->loss_change) : Value();
  return value;
}

Value results_of(const TransferAnswer& answer, const std::vector<Group>& groups) {
  const TransferSolution& solution = answer.solution;
  Value results = Value::object();
  results["parametrization"] = answer.problem.parametrization.name;
  results["optimizer"] = answer.problem.optimizer.name;
  results["alignment"] = to_string(answer.problem.alignment);
  results["branch"] = exponents_value(solution.branch);
  results["criteria"] = criteria_value(solution.criteria);
  results["attention"] = solution.attention ? law_value(*solution.attention) : Value();
  results["kinds"] = kinds_value(groups, answer);
  results["parameters"] = parameters_value(answer);
  results["binding"] = bindings_value(solution.bindings);
  results["warnings"] = texts(solution.warnings);
  return results;
}

bool has(const TransferAnswer& answer, GrowthAxis axis) {
  return std::ranges::find(answer.problem.axes, axis) != answer.problem.axes.end();
}

Facts facts_of(const TransferAnswer& answer) {
  Facts facts;
  facts.rows = {{"optimizer", answer.problem.optimizer.name},
                {"alignment", to_string(answer.problem.alignment)}};
  if (has(answer, GrowthAxis::depth) && answer.problem.model.has_branches)
    facts.rows.push_back({"branch multiplier", formula_value(answer.solution.branch)});
  if (const auto& criteria = answer.solution.criteria) {
    facts.rows.push_back({"for features to change by 1", formula_value(criteria->feature_change)});
    facts.rows.push_back({"for the loss to, at the same lr",
                          criteria->loss_change ? formula_value(*criteria->loss_change)
                                                : Value("any: it does not depend on it")});
  }
  if (answer.solution.attention)
    facts.rows.push_back({"scale of scores", formula_value(*answer.solution.attention)});
  std::string ratios;
  for (const GrowthAxis axis : answer.problem.axes)
    ratios +=
        fmt::format("{}{} {}", ratios.empty() ? "" : ", ", ratio_symbol(axis), to_string(axis));
  facts.rows.push_back({"ratios", ratios});
  return facts;
}

using Rows = std::vector<std::pair<std::string, const TensorTransfer*>>;

/// A row for each of these, a cell for each of their numbers.
template <class Cell>
Table table_of(const Rows& rows, const TransferAnswer& answer, const Cell& cell) {
  const bool with_beta = has(answer, GrowthAxis::batch);
  Table table;
  table.columns = {"parameters", "multiplier", "std", "lr", "decay", "eps"};
  if (with_beta) table.columns.push_back("1 - beta");
  table.key_columns = 1;
  for (const auto& [name, tensor] : rows) {
    std::vector<Value> cells = {name};
    for (const Number& number : numbers_of(name, *tensor, answer))
      if (with_beta || std::string_view(number.name) != "one_minus_beta")
        cells.push_back(cell(number));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table laws_table(const Rows& rows, const TransferAnswer& answer) {
  Table table = table_of(rows, answer, [](const Number& number) {
    return number.law ? formula_value(*number.law) : Value("-");
  });
  table.columns.push_back("standard is off by");
  for (std::size_t i = 0; i < rows.size(); ++i)
    table.rows[i].push_back(formula_value(rows[i].second->standard_excess));
  return table;
}

/// "3e-3 -> 1.9e-4", or the factor alone.
std::string change_text(const Number& number, const TransferAnswer& answer) {
  if (!number.law) return "-";
  const double factor = number.law->at(answer.sizes->ratios);
  if (!number.base) return "x " + report::format_number(factor, 4);
  return report::format_number(*number.base, 4) + " -> " +
         report::format_number(*number.base * factor, 4);
}

Table numbers_table(const Rows& rows, const TransferAnswer& answer) {
  return table_of(rows, answer,
                  [&](const Number& number) { return Value(change_text(number, answer)); });
}

std::string sizes_text(const std::vector<std::pair<GrowthAxis, double>>& sizes) {
  std::string text;
  for (const auto& [axis, size] : sizes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(axis),
                        report::format_number(size));
  return text;
}

/// One sentence for each kind of bound that --explain lists, of what kind of tensor it binds.
const char* meaning(const std::string& bound, const std::string& quantity, bool ends_in_logits) {
  if (bound == "own_change")
    return ends_in_logits ? "its step changes logits by no more than 1"
                          : "its step changes what it puts out by no more than features";
  if (bound == "second_change") return "its step acts on inputs that have changed";
  if (bound == "relative_step") return "a step relative to theta multiplies it at every step";
  if (bound == "branch_sum") return "changes of all blocks add up to no more than features";
  if (bound == "tied_start")
    return "what begins below features, in front of a norm, changes by no more";
  if (bound == "other_use") return "one tensor of two uses, and the other allows less";
  if (bound == "noise") return "the noise that its steps add stays";
  if (bound == "head_features")
    return quantity == "features" ? "what features move, the head's old value turns into logits"
                                  : "features may move by what the head's old value allows";
  if (bound == "branch_variance") return "the branches' variances add at init";
  return bound == "features_at_init" ? "features at init are at most 1"
                                     : "logits at init are at most 1";
}

bool ends_in_logits(const TransferAnswer& answer, const std::string& name) {
  return std::ranges::any_of(answer.problem.model.tensors, [&](const TransferTensor& tensor) {
    return tensor.name == name &&
           (tensor.kind == TensorKind::output || tensor.kind == TensorKind::output_bias);
  });
}

Table binding_table(const TransferAnswer& answer) {
  Table table;
  table.columns = {"parameters", "of", "axis", "in exponents", "bound", "why"};
  table.key_columns = 1;
  for (const TransferBinding& binding : answer.solution.bindings)
    table.rows.push_back(
        {binding.tensor, binding.quantity, ratio_symbol(binding.axis), binding.equation,
         binding.holds ? binding.bound : binding.bound + " (broken)",
         meaning(binding.bound, binding.quantity, ends_in_logits(answer, binding.tensor))});
  return table;
}

Rows rows_of(const TransferAnswer& answer, const std::vector<Group>& groups) {
  Rows rows;
  if (answer.all.empty())
    for (const Group& group : groups) rows.emplace_back(group.key, group.numbers);
  for (const auto& [path, index] : answer.all)
    rows.emplace_back(path, &answer.solution.tensors[index]);
  return rows;
}

}  // namespace

report::Document transfer_document(const TransferAnswer& answer) {
  const std::vector<Group> groups = groups_of(answer);
  report::Document document;
  document.command = "transfer";
  document.inputs = inputs_of(answer);
  document.results = results_of(answer, groups);
  const Rows rows = rows_of(answer, groups);
  const std::string title =
      fmt::format("{}: {}", answer.model.empty() ? "pre-norm blocks" : answer.model,
                  answer.problem.parametrization.name);
  document.sections.push_back({title, facts_of(answer)});
  document.sections.push_back({"How each number changes", laws_table(rows, answer)});
  if (answer.sizes)
    document.sections.push_back(
        {fmt::format("From {} to {}", sizes_text(answer.sizes->from), sizes_text(answer.sizes->to)),
         numbers_table(rows, answer)});
  if (answer.explain) document.sections.push_back({"What binds", binding_table(answer)});
  std::string warnings;
  for (const std::string& warning : answer.solution.warnings)
    warnings += (warnings.empty() ? "" : "\n") + ("- " + warning);
  if (!warnings.empty()) document.sections.push_back({"Note", report::Paragraph{warnings}});
  document.rows = laws_table(rows, answer);
  return document;
}

report::Document same_document(const SameAnswer& answer) {
  report::Document document;
  document.command = "transfer";
  document.inputs["model"] = answer.model.empty() ? Value() : Value(answer.model);
  document.inputs["optimizer"] = answer.problem.optimizer.name;
  document.inputs["alignment"] = to_string(answer.problem.alignment);
  document.inputs["axes"] = axis_names(answer.problem.axes);
  document.inputs["same"] = texts({answer.first, answer.second});
  const SameParametrization& result = answer.result;
  document.results["same"] = result.same;
  document.results["same_branch"] = result.same_branch;
  document.results["same_attention"] = result.same_attention;
  Table table;
  table.columns = {"parameters", "same", "t", "difference"};
  Value kinds = Value::array();
  for (const SameParametrization::Kind& kind : result.kinds) {
    Value value = Value::object();
    value["kind"] = kind.name;
    value["same"] = kind.same;
    value["factor"] = law_value(kind.factor);
    value["difference"] = kind.same ? Value() : Value(kind.difference);
    kinds.push_back(std::move(value));
    table.rows.push_back({kind.name, kind.same ? "yes" : "no", formula_value(kind.factor),
                          kind.same ? "" : kind.difference});
  }
  document.results["kinds"] = std::move(kinds);
  Facts facts;
  facts.rows = {{"same", result.same ? "yes" : "no"},
                {"t", "multiplier * t, std / t, lr * t^-g, eps * t^e, decay * t^g"}};
  if (!result.same_branch) facts.rows.push_back({"branch multiplier", "differs"});
  if (!result.same_attention) facts.rows.push_back({"scale of scores", "differs"});
  document.sections.push_back({fmt::format("{} and {} under {}", answer.first, answer.second,
                                           answer.problem.optimizer.name),
                               facts});
  document.sections.push_back({"By kind", table});
  document.rows = table;
  return document;
}

}  // namespace scalecalc::cli
