#include "scalecalc/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/auditor.hpp"
#include "audit/findings.hpp"
#include "audit/match.hpp"
#include "base/confidence.hpp"

namespace scalecalc {
namespace {

using namespace audit_room;
using weights::Dtype;
using weights::Tensor;

/// Of a model: pairs its parameters with the tensors of the file, by the names that fit.
class ModelAuditor : Auditor {
 public:
  ModelAuditor(const std::string& weights, const ModelSpec& spec, const AuditOptions& options)
      : Auditor(weights, options),
        spec_(spec),
        plan_(init_plan(spec)),
        match_(match_tensors(reader_, spec, plan_.network, options.names)),
        rules_(spec, plan_) {}

  Audit run() {
    audit_.naming = match_.naming.name;
    for (std::size_t i = 0; i < match_.named.tensors.size(); ++i) lay_out(i);
    for (const std::size_t index : match_.named.unnamed)
      audit_.skipped.push_back(
          {plan_.parameters[index].path, fmt::format("has no name in {}", match_.naming.name)});
    for (const Leftover& leftover : match_.leftovers) lay_out(leftover);
    measure_all();
    judge_all();
    summarise(spec_, audit_);
    return std::move(audit_);
  }

 private:
  void lay_out(std::size_t index) {
    const NamedTensor& named = match_.named.tensors[index];
    if (!match_.tensor_of[index]) return lay_out_missing(named);
    const std::size_t at = *match_.tensor_of[index];
    const Tensor& tensor = reader_.tensors()[at];
    if (tensor.dtype == Dtype::other) {
      audit_.skipped.push_back({tensor.name, "values are " + tensor.dtype_name});
      return;
    }
    Job job{at, {{0}}, audit_.parameters.size()};
    const bool right_shape = tensor.shape == named.shape ||
                             (tensor.elements == 1 && is_one(named)) ||
                             is_kernel_of_patches(tensor, named);
    std::int64_t inner = 1;
    for (std::size_t k = static_cast<std::size_t>(named.axis) + 1; k < named.shape.size(); ++k)
      inner *= named.shape[k];
    for (const std::size_t part : named.parts) {
      const PlannedParameter& planned = plan_.parameters[part];
      AuditedParameter parameter = of_tensor(tensor, named.pattern);
      describe(planned, part, parameter);
      if (named.parts.size() > 1) parameter.part = planned.role;
      if (!right_shape) {
        parameter.fault = Fault::wrong_shape;
        parameter.verdict = wrong_shape(tensor, named.shape);
      }
      add(std::move(parameter), expectation(part, named));
      if (named.parts.size() > 1 && right_shape)
        job.division.bounds.push_back(job.division.bounds.back() +
                                      planned.columns / named.rounds * inner);
    }
    if (job.division.bounds.size() == 1) job.division.bounds.push_back(tensor.elements);
    jobs_.push_back(std::move(job));
  }

  /// The map of patches as a convolution: (out, in, rows, columns) in the place of (out, in).
  bool is_kernel_of_patches(const Tensor& tensor, const NamedTensor& named) const {
    return plan_.parameters[named.parts.front()].path == "patch.weight" &&
           named.shape.size() == 2 && tensor.shape.size() == 4 &&
           tensor.shape.front() == named.shape.front() &&
           tensor.elements == named.shape[0] * named.shape[1];
  }

  static bool is_one(const NamedTensor& named) {
    return std::all_of(named.shape.begin(), named.shape.end(),
                       [](std::int64_t size) { return size == 1; });
  }

  void describe(const PlannedParameter& planned, std::size_t index,
                AuditedParameter& parameter) const {
    parameter.path = planned.path;
    parameter.expected = planned.start;
    parameter.expected_mean = planned.mean;
    parameter.expected_std = planned.std;
    parameter.expected_rule = rules_.due(index);
  }

  void lay_out_missing(const NamedTensor& named) {
    const PlannedParameter& first = plan_.parameters[named.parts.front()];
    if (named.tied_to) {
      audit_.skipped.push_back({named.name, "absent: it is " + *named.tied_to});
      return;
    }
    if (match_.naming.name == "torch-encoder" && named.indices.empty() &&
        (first.role == "embedding" || first.role == "head")) {
      audit_.skipped.push_back({named.name, "absent: it is not part of the encoder"});
      return;
    }
    if (is_ours_alone(spec_, first.path)) return;
    for (const std::size_t part : named.parts) {
      AuditedParameter parameter;
      parameter.name = named.name;
      parameter.pattern = named.pattern;
      parameter.shape = named.shape;
      describe(plan_.parameters[part], part, parameter);
      if (named.parts.size() > 1) parameter.part = plan_.parameters[part].role;
      parameter.fault = Fault::missing;
      parameter.verdict = "missing: the file has no such tensor";
      add(std::move(parameter), {});
    }
  }

  void lay_out(const Leftover& leftover) {
    const Tensor& tensor = reader_.tensors()[leftover.tensor];
    const bool other = tensor.dtype == Dtype::other;
    if (leftover.known || other) {
      audit_.skipped.push_back(
          {tensor.name, leftover.known ? leftover.why : "values are " + tensor.dtype_name});
      return;
    }
    AuditedParameter parameter = of_tensor(tensor, leftover.pattern);
    Expectation expected;
    if (leftover.constant) {
      parameter.expected_mean = expected.mean = *leftover.constant;
      parameter.expected = expected.mean == 0 ? Start::zeros : Start::ones;
      parameter.expected_rule = expected.due.text = number_text(expected.mean);
      parameter.remark = fmt::format("{}; as it is, it changes nothing", leftover.why);
    } else {
      parameter.path = leftover.path;
      parameter.fault = Fault::unexpected;
      parameter.verdict = "unexpected: " + leftover.why;
    }
    jobs_.push_back({leftover.tensor, {{0, tensor.elements}}, audit_.parameters.size()});
    add(std::move(parameter), std::move(expected));
  }

  Expectation expectation(std::size_t part, const NamedTensor& named) const {
    Expectation expected;
    expected.due = rules_.rule_due(part);
    expected.mean = plan_.parameters[part].mean;
    std::int64_t packed = 0;
    for (const std::size_t other : named.parts) packed += plan_.parameters[other].columns;
    expected.others = [this, part, packed] { return rules_.others(part, packed); };
    if (named.tied_to) accept_tied(*named.tied_to, expected);
    if (named.pattern == "wpe.weight") {
      expected.accepted.push_back(
          {"0.02", "Hugging Face's and nanoGPT's", 0.02, Start::normal, true});
      expected.accepted.push_back({"0.01", "OpenAI's own code", 0.01, Start::normal, true});
    }
    return expected;
  }

  /// A tied tensor that is stored twice has the other's std.
  void accept_tied(const std::string& name, Expectation& expected) const {
    for (const NamedTensor& other : match_.named.tensors) {
      if (other.name != name) continue;
      Rule rule = rules_.rule_due(other.parts.front());
      rule.reason = "that of " + name + ", which it is tied to";
      expected.accepted.push_back(std::move(rule));
    }
  }

  const ModelSpec& spec_;
  InitPlan plan_;
  Match match_;
  RuleBook rules_;
};

}  // namespace

std::string to_string(Fault fault) {
  switch (fault) {
    case Fault::none: return "none";
    case Fault::missing: return "missing";
    case Fault::unexpected: return "unexpected";
    case Fault::wrong_shape: return "wrong_shape";
    case Fault::not_finite: return "not_finite";
    case Fault::wrong_constant: return "wrong_constant";
    case Fault::wrong_std: return "wrong_std";
    case Fault::wrong_mean: return "wrong_mean";
    case Fault::wrong_distribution: return "wrong_distribution";
    case Fault::copied: break;
  }
  return "copied";
}

Audit audit(const std::string& weights, const ModelSpec& spec, const AuditOptions& options) {
  base::check_confidence(options.confidence, "audit");
  return ModelAuditor(weights, spec, options).run();
}

}  // namespace scalecalc
