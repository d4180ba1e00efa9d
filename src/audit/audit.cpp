#include "scalecalc/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/findings.hpp"
#include "audit/judge.hpp"
#include "audit/match.hpp"
#include "audit/measure.hpp"
#include "base/confidence.hpp"

namespace scalecalc {
namespace {

using namespace audit_room;
using weights::Dtype;
using weights::Reader;
using weights::Tensor;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

/// One tensor of the file that is to be measured, and where its parts go.
struct Job {
  std::size_t tensor = 0;
  Division division;
  std::size_t first = 0;  ///< index of the first part among the audited parameters
};

/// One audit: pairs names, measures in the order of the file, then judges all at once.
class Auditor {
 public:
  Auditor(const std::string& weights, const ModelSpec& spec, const AuditOptions& options)
      : spec_(spec),
        options_(options),
        reader_(weights),
        plan_(init_plan(spec)),
        match_(match_tensors(reader_, spec, plan_.network, options.names)),
        rules_(spec, plan_) {}

  Audit run() {
    audit_.naming = match_.naming.name;
    audit_.bytes = reader_.bytes();
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
  void add(AuditedParameter parameter, Expectation expectation) {
    audit_.parameters.push_back(std::move(parameter));
    expectations_.push_back(std::move(expectation));
  }

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
    const bool right_shape = tensor.shape == named.shape || (tensor.elements == 1 && is_one(named));
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
        parameter.verdict = wrong_shape(tensor, named);
      }
      add(std::move(parameter), expectation(part, named));
      if (named.parts.size() > 1 && right_shape)
        job.division.bounds.push_back(job.division.bounds.back() + planned.columns * inner);
    }
    if (job.division.bounds.size() == 1) job.division.bounds.push_back(tensor.elements);
    jobs_.push_back(std::move(job));
  }

  static bool is_one(const NamedTensor& named) {
    return std::all_of(named.shape.begin(), named.shape.end(),
                       [](std::int64_t size) { return size == 1; });
  }

  static AuditedParameter of_tensor(const Tensor& tensor, const std::string& pattern) {
    AuditedParameter parameter;
    parameter.name = tensor.name;
    parameter.pattern = pattern;
    parameter.dtype = tensor.dtype_name;
    parameter.shape = tensor.shape;
    return parameter;
  }

  void describe(const PlannedParameter& planned, std::size_t index,
                AuditedParameter& parameter) const {
    parameter.path = planned.path;
    parameter.expected = planned.start;
    parameter.expected_mean = planned.mean;
    parameter.expected_std = planned.std;
    parameter.expected_rule = rules_.due(index);
  }

  static std::string wrong_shape(const Tensor& tensor, const NamedTensor& named) {
    std::vector<std::int64_t> turned(tensor.shape.rbegin(), tensor.shape.rend());
    return fmt::format("the shape is {}, but {} was due{}", shape_text(tensor.shape),
                       shape_text(named.shape),
                       turned == named.shape ? ": it is stored the other way round" : "");
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

  /// In the order of the bytes, so that a disk reads ahead.
  void measure_all() {
    std::sort(jobs_.begin(), jobs_.end(),
              [](const Job& a, const Job& b) { return a.tensor < b.tensor; });
    double done = 0, all = 0;
    for (const Job& job : jobs_) all += size_of(job);
    for (const Job& job : jobs_) {
      const Tensor& tensor = reader_.tensors()[job.tensor];
      if (options_.progress && !options_.progress(done / std::max(all, 1.0), tensor.name))
        throw Error(ErrorKind::fault, "the audit was stopped");
      const std::vector<Sample> samples = measure(reader_, tensor, job.division, options_.threads);
      for (std::size_t k = 0; k < samples.size(); ++k)
        audit_.parameters[job.first + k].sample = samples[k];
      audit_.values += tensor.elements;
      done += size_of(job);
    }
  }

  double size_of(const Job& job) const {
    const Tensor& tensor = reader_.tensors()[job.tensor];
    return static_cast<double>(tensor.end - tensor.begin);
  }

  void judge_all() {
    for (std::size_t i = 0; i < audit_.parameters.size(); ++i)
      if (expectations_[i].due.std > 0 && audit_.parameters[i].fault == Fault::none)
        audit_.comparisons += comparisons_of_one;
    audit_.confidence = options_.confidence;
    const Bands bands(audit_.comparisons, options_.confidence);
    audit_.quantile = bands.quantile();
    const Judge judge(bands, options_.strict);
    for (std::size_t i = 0; i < audit_.parameters.size(); ++i) {
      AuditedParameter& parameter = audit_.parameters[i];
      if (parameter.fault != Fault::none) continue;
      judge.judge(expectations_[i], dtype_of(parameter), parameter);
      if (parameter.fault != Fault::none) parameter.remark.clear();
    }
  }

  static Dtype dtype_of(const AuditedParameter& parameter) {
    return parameter.dtype == "BF16"  ? Dtype::bf16
           : parameter.dtype == "F16" ? Dtype::f16
           : parameter.dtype == "F64" ? Dtype::f64
                                      : Dtype::f32;
  }

  const ModelSpec& spec_;
  const AuditOptions& options_;
  Reader reader_;
  InitPlan plan_;
  Match match_;
  RuleBook rules_;
  std::vector<Expectation> expectations_;  ///< of audit_.parameters
  std::vector<Job> jobs_;
  Audit audit_;
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
    case Fault::wrong_distribution: break;
  }
  return "wrong_distribution";
}

Audit audit(const std::string& weights, const ModelSpec& spec, const AuditOptions& options) {
  base::check_confidence(options.confidence, "audit");
  return Auditor(weights, spec, options).run();
}

}  // namespace scalecalc
