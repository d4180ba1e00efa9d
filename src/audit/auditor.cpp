#include "audit/auditor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "scalecalc/error.hpp"

namespace scalecalc::audit_room {
namespace {

using weights::Dtype;
using weights::Tensor;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

Dtype dtype_of(const AuditedParameter& parameter) {
  return parameter.dtype == "BF16"  ? Dtype::bf16
         : parameter.dtype == "F16" ? Dtype::f16
         : parameter.dtype == "F64" ? Dtype::f64
                                    : Dtype::f32;
}

}  // namespace

void Auditor::add(AuditedParameter parameter, Expectation expectation) {
  audit_.parameters.push_back(std::move(parameter));
  expectations_.push_back(std::move(expectation));
}

AuditedParameter Auditor::of_tensor(const Tensor& tensor, const std::string& pattern) {
  AuditedParameter parameter;
  parameter.name = tensor.name;
  parameter.pattern = pattern;
  parameter.dtype = tensor.dtype_name;
  parameter.shape = tensor.shape;
  return parameter;
}

std::string Auditor::wrong_shape(const Tensor& tensor, const std::vector<std::int64_t>& due) {
  std::vector<std::int64_t> turned(tensor.shape.rbegin(), tensor.shape.rend());
  return fmt::format("the shape is {}, but {} was due{}", shape_text(tensor.shape), shape_text(due),
                     turned == due ? ": it is stored the other way round" : "");
}

/// In the order of the bytes, so that a disk reads ahead.
void Auditor::measure_all(const std::map<std::string, Sample>& known) {
  std::sort(jobs_.begin(), jobs_.end(),
            [](const Job& a, const Job& b) { return a.tensor < b.tensor; });
  double done = 0, all = 0;
  for (const Job& job : jobs_) all += size_of(job);
  for (const Job& job : jobs_) {
    const Tensor& tensor = reader_.tensors()[job.tensor];
    if (options_.progress && !options_.progress(done / std::max(all, 1.0), tensor.name))
      throw Error(ErrorKind::fault, "the audit was stopped");
    const auto found = known.find(tensor.name);
    const std::vector<Sample> samples =
        found != known.end() ? std::vector{found->second}
                             : measure(reader_, tensor, job.division, options_.threads);
    for (std::size_t k = 0; k < samples.size(); ++k)
      audit_.parameters[job.first + k].sample = samples[k];
    audit_.values += tensor.elements;
    done += size_of(job);
  }
}

double Auditor::size_of(const Job& job) const {
  const Tensor& tensor = reader_.tensors()[job.tensor];
  return static_cast<double>(tensor.end - tensor.begin);
}

void Auditor::judge_all() {
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
  find_copies();
}

/// Of another layer or part, by all that is measured of them: that two tensors of so many
/// independent values agree in it has a chance of one in 2^100. An embedding and the head that is
/// tied to it are no such pair.
void Auditor::find_copies() {
  constexpr std::int64_t kLeastValues = 32;
  std::map<std::tuple<std::string, std::int64_t, double, double, double, double, double>,
           std::string>
      seen;
  for (std::size_t i = 0; i < audit_.parameters.size(); ++i) {
    AuditedParameter& parameter = audit_.parameters[i];
    const Sample& sample = parameter.sample;
    const Rule& due = expectations_[i].due;
    if (parameter.fault != Fault::none || due.std == 0 || (due.any_form && !due.is_drawn) ||
        sample.count < kLeastValues)
      continue;
    const auto [first, is_new] =
        seen.try_emplace({parameter.pattern, sample.count, sample.mean, sample.std, sample.min,
                          sample.max, sample.kurtosis},
                         parameter.name);
    if (is_new) continue;
    parameter.fault = Fault::copied;
    parameter.verdict = fmt::format(
        "the values of {} once more, where each is to be drawn by itself", first->second);
    parameter.remark.clear();
  }
}

}  // namespace scalecalc::audit_room
