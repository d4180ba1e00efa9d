#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "audit/auditor.hpp"
#include "audit/findings.hpp"
#include "base/confidence.hpp"
#include "base/text.hpp"
#include "names/buffers.hpp"
#include "names/prefixes.hpp"

namespace scalecalc {
namespace {

using namespace audit_room;
using weights::Dtype;
using weights::Tensor;

Start start_of(const LibraryTensor& tensor) {
  if (tensor.std == 0)
    return tensor.mean == 0 ? Start::zeros : tensor.mean == 1 ? Start::ones : Start::constant;
  if (tensor.distribution == "orthogonal") return Start::orthogonal;
  return tensor.distribution == "uniform" ? Start::uniform : Start::normal;
}

/// Its form counts where it is one of those that are told apart: normal or uniform, no row set to
/// zero.
Rule rule_of(const LibraryTensor& tensor) {
  Rule rule;
  rule.text = tensor.rule;
  rule.std = tensor.std;
  rule.start = start_of(tensor);
  rule.any_form = !tensor.is_plain();
  const std::string& kind = tensor.draw.kind;
  rule.is_drawn = kind != "log_range" && kind != "sinusoids" && kind != "sinusoid_pairs";
  return rule;
}

/// What else a tensor may have been drawn by: `rules`, those of others of the model, the defaults
/// of PyTorch's layers and of the field, factors that are forgotten.
std::vector<Rule> mistakes(const LibraryTensor& tensor, std::vector<Rule> rules,
                           const std::vector<Rule>& of_others) {
  if (tensor.std > 0) {
    rules.push_back(
        plain_rule("(" + tensor.rule + ")*sqrt(2)", tensor.std * std::sqrt(2.0), "off by sqrt(2)"));
    rules.push_back(
        plain_rule("(" + tensor.rule + ")/sqrt(2)", tensor.std / std::sqrt(2.0), "off by sqrt(2)"));
  }
  for (const Rule& rule : of_others)
    if (std::fabs(rule.std - tensor.std) > 1e-6 * rule.std) rules.push_back(rule);
  if (tensor.shape.size() >= 2) {
    double places = 1;
    for (std::size_t axis = 2; axis < tensor.shape.size(); ++axis)
      places *= static_cast<double>(tensor.shape[axis]);
    add_fan_rules(static_cast<double>(tensor.shape[1]) * places,
                  static_cast<double>(tensor.shape[0]) * places, "", rules);
  }
  add_constant_rules(rules);
  return rules;
}

/// Of a library's model: its tensors by their names, with the prefix that the file has or lacks.
class LibraryAuditor : Auditor {
 public:
  LibraryAuditor(const std::string& weights, const LibraryModel& model, const AuditOptions& options)
      : Auditor(weights, options), model_(model) {
    std::set<double> seen;
    for (const LibraryTensor& tensor : model.tensors) {
      if (tensor.std == 0 || !seen.insert(tensor.std).second) continue;
      Rule rule = rule_of(tensor);
      rule.reason = "what " + name_pattern(tensor.name) + " is due";
      rule.any_form = true;
      others_.push_back(std::move(rule));
    }
  }

  Audit run(const std::map<std::string, Sample>& known = {}) {
    audit_.naming = model_.class_name;
    pair();
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) lay_out(i);
    for (const auto& [at, why] : left_) lay_out_left(at, why);
    measure_all(known);
    judge_all();
    summarise(audit_);
    find_common_std(audit_);
    return std::move(audit_);
  }

 private:
  /// Names as they are, or else with one prefix more or less: a checkpoint of the bare model under
  /// a class with a head, and the other way round.
  void pair() {
    std::map<std::string, std::size_t> whole, bare;
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
      const std::string& name = model_.tensors[i].name;
      whole.emplace(name, i);
      for (const std::string& tied : model_.tensors[i].tied) whole.emplace(tied, i);
      const std::size_t dot = name.find('.');
      if (dot == std::string::npos) continue;
      prefixes_.insert(name.substr(0, dot + 1));
      // "weight" alone names nothing.
      if (name.find('.', dot + 1) != std::string::npos) bare.emplace(name.substr(dot + 1), i);
    }
    prefixes_.insert(names::wrappers().begin(), names::wrappers().end());
    at_.resize(model_.tensors.size());
    for (std::size_t k = 0; k < reader_.tensors().size(); ++k) {
      const std::optional<std::size_t> found = find(reader_.tensors()[k].name, whole, bare);
      if (!found) {
        left_.emplace_back(k, names::is_buffer(reader_.tensors()[k].name) ? "a buffer" : "");
      } else if (at_[*found]) {
        left_.emplace_back(k, "another name of " + model_.tensors[*found].name);
      } else {
        at_[*found] = k;
      }
    }
    if (std::none_of(at_.begin(), at_.end(), [](const auto& at) { return at.has_value(); }))
      throw Error(ErrorKind::input,
                  "no tensor of the file is called as one of " + model_.class_name, "audit",
                  "check that the config is that of these weights");
  }

  std::optional<std::size_t> find(std::string name, const std::map<std::string, std::size_t>& whole,
                                  const std::map<std::string, std::size_t>& bare) const {
    for (;;) {
      if (const auto found = whole.find(name); found != whole.end()) return found->second;
      if (const auto found = bare.find(name); found != bare.end()) return found->second;
      const std::size_t dot = name.find('.');
      if (dot == std::string::npos || prefixes_.count(name.substr(0, dot + 1)) == 0)
        return std::nullopt;
      name.erase(0, dot + 1);
    }
  }

  void lay_out(std::size_t index) {
    const LibraryTensor& due = model_.tensors[index];
    AuditedParameter parameter;
    parameter.name = due.name;
    parameter.pattern = name_pattern(due.name);
    parameter.shape = due.shape;
    if (at_[index]) {
      const Tensor& tensor = reader_.tensors()[*at_[index]];
      if (tensor.dtype == Dtype::other) {
        audit_.skipped.push_back({tensor.name, "values are " + tensor.dtype_name});
        return;
      }
      parameter = of_tensor(tensor, name_pattern(tensor.name));
      const bool right_shape = tensor.shape == due.shape;
      if (!right_shape) {
        parameter.fault = Fault::wrong_shape;
        parameter.verdict = wrong_shape(tensor, due.shape);
      }
      if (right_shape && !due.parts.empty()) return lay_out_parts(due, parameter, index);
      jobs_.push_back({*at_[index], {{0, tensor.elements}}, audit_.parameters.size()});
    } else {
      parameter.fault = Fault::missing;
      parameter.verdict = "missing: the file has no such tensor";
    }
    parameter.path = due.name;
    expect(due, index, std::move(parameter));
  }

  /// One round of the parts after the other.
  void lay_out_parts(const LibraryTensor& due, const AuditedParameter& whole, std::size_t index) {
    Job job{*at_[index], {{0}}, audit_.parameters.size()};
    std::int64_t inner = 1;
    for (std::size_t axis = static_cast<std::size_t>(due.axis) + 1; axis < due.shape.size(); ++axis)
      inner *= due.shape[axis];
    for (const LibraryTensor& part : due.parts) {
      AuditedParameter parameter = whole;
      parameter.path = due.name;
      parameter.part = part.name;
      job.division.bounds.push_back(job.division.bounds.back() +
                                    part.shape[static_cast<std::size_t>(due.axis)] * inner);
      expect(part, index, std::move(parameter));
    }
    jobs_.push_back(std::move(job));
  }

  void expect(const LibraryTensor& due, std::size_t index, AuditedParameter parameter) {
    parameter.expected = start_of(due);
    parameter.expected_mean = due.mean;
    parameter.expected_std = due.std;
    parameter.expected_rule = due.rule;
    Expectation expected;
    expected.due = rule_of(due);
    expected.mean = due.mean;
    expected.rare = due.rare;
    expected.others = [this, &due, index] { return mistakes(due, of_variants(index), others_); };
    add(std::move(parameter), std::move(expected));
  }

  /// What the code of others draws that tensor by.
  std::vector<Rule> of_variants(std::size_t index) const {
    std::vector<Rule> rules;
    for (const LibraryVariant& variant : model_.variants) {
      const LibraryTensor& tensor = variant.tensors[index];
      if (tensor.std == model_.tensors[index].std) continue;
      rules.push_back(
          plain_rule(tensor.rule, tensor.std,
                     "as " + variant.title + " draws it (--against " + variant.name + ")"));
    }
    return rules;
  }

  void lay_out_left(std::size_t at, const std::string& why) {
    const Tensor& tensor = reader_.tensors()[at];
    if (!why.empty() || tensor.dtype == Dtype::other) {
      audit_.skipped.push_back(
          {tensor.name, why.empty() ? "values are " + tensor.dtype_name : why});
      return;
    }
    AuditedParameter parameter = of_tensor(tensor, name_pattern(tensor.name));
    parameter.fault = Fault::unexpected;
    parameter.verdict = "unexpected: " + model_.class_name + " has no such tensor";
    jobs_.push_back({at, {{0, tensor.elements}}, audit_.parameters.size()});
    add(std::move(parameter), {});
  }

  const LibraryModel& model_;
  std::vector<std::optional<std::size_t>> at_;  ///< in the file, of each tensor of the model
  std::vector<std::pair<std::size_t, std::string>> left_;
  std::vector<Rule> others_;
  std::set<std::string> prefixes_;  ///< that files have and models lack: of modules and of wrappers
};

std::ptrdiff_t faults_of(const Audit& audit) {
  return std::count_if(
      audit.parameters.begin(), audit.parameters.end(),
      [](const AuditedParameter& parameter) { return parameter.fault != Fault::none; });
}

/// The constant that a tensor holds; none where its values differ. Gains of norms are small: a
/// tensor of more values is not looked at.
std::optional<double> held_constant(const weights::Reader& reader, const Tensor& tensor) {
  constexpr std::int64_t most_values = 1 << 16;
  if (tensor.dtype == Dtype::other || tensor.elements < 1 || tensor.elements > most_values)
    return std::nullopt;
  std::vector<double> values(static_cast<std::size_t>(tensor.elements));
  reader.read(tensor, 0, tensor.elements, values.data());
  const bool is_constant = std::all_of(values.begin(), values.end(),
                                       [&](double value) { return value == values.front(); });
  return is_constant ? std::optional(values.front()) : std::nullopt;
}

/// The name as the models have it, where a wrapper stands in front of it.
std::string without_wrapper(std::string name,
                            const std::map<std::string, std::set<double>>& known) {
  for (const std::string& wrapper : names::wrappers())
    if (known.count(name) == 0 && name.starts_with(wrapper)) name.erase(0, wrapper.size());
  return name;
}

/// Moves those models to the front that start most tensors at the constant which the file holds,
/// where others start them at another one: libraries whose tensors are called alike differ by gains
/// of norms. Weights that were trained leave the order as it is.
void order_by_constants(const weights::Reader& reader, std::vector<LibraryModel>& models) {
  std::map<std::string, std::set<double>> constants;
  for (const LibraryModel& model : models)
    for (const LibraryTensor& tensor : model.tensors)
      if (tensor.std == 0) constants[tensor.name].insert(tensor.mean);
  std::map<std::string, double> held;
  for (const Tensor& tensor : reader.tensors()) {
    const auto due = constants.find(without_wrapper(tensor.name, constants));
    if (due == constants.end() || due->second.size() < 2) continue;
    if (const auto value = held_constant(reader, tensor)) held.emplace(due->first, *value);
  }
  const auto agreeing = [&](const LibraryModel& model) {
    return std::count_if(model.tensors.begin(), model.tensors.end(), [&](const auto& tensor) {
      const auto found = held.find(tensor.name);
      return found != held.end() && tensor.std == 0 && tensor.mean == found->second;
    });
  };
  std::stable_sort(models.begin(), models.end(),
                   [&](const auto& a, const auto& b) { return agreeing(a) > agreeing(b); });
}

}  // namespace

std::vector<LibraryModel> recognise_weights(const std::string& weights) {
  const weights::Reader reader(weights);
  std::vector<NamedShape> tensors;
  for (const Tensor& tensor : reader.tensors()) tensors.push_back({tensor.name, tensor.shape});
  std::vector<LibraryModel> models = recognise(tensors, base::shortened(weights));
  if (models.size() > 1) order_by_constants(reader, models);
  return models;
}

Audit audit(const std::string& weights, const LibraryModel& model, const AuditOptions& options) {
  base::check_confidence(options.confidence, "audit");
  return LibraryAuditor(weights, model, options).run();
}

Audit audit(const std::string& weights, std::vector<LibraryModel>& models,
            const AuditOptions& options) {
  base::check_confidence(options.confidence, "audit");
  std::size_t best = 0;
  std::map<std::string, Sample> known;
  std::optional<Audit> found;
  for (std::size_t i = 0; i < models.size(); ++i) {
    Audit one = LibraryAuditor(weights, models[i], options).run(known);
    for (const AuditedParameter& parameter : one.parameters)
      if (parameter.fault != Fault::missing) known.emplace(parameter.name, parameter.sample);
    if (found && faults_of(one) >= faults_of(*found)) continue;
    best = i;
    found = std::move(one);
  }
  if (!found) throw Error(ErrorKind::input, "no model is given", "audit");
  std::rotate(models.begin(), models.begin() + static_cast<std::ptrdiff_t>(best),
              models.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  return std::move(*found);
}

}  // namespace scalecalc
