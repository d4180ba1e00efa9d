#include "audit/judge.hpp"

#include <fmt/format.h>

#include <cmath>

namespace scalecalc::audit_room {
namespace {

using weights::Dtype;

/// Relative: what rounding to the nearest changes a value by at most.
double rounding_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16: return 0x1p-8;
    case Dtype::f16: return 0x1p-11;
    case Dtype::f64: return 0x1p-53;
    case Dtype::f32:
    case Dtype::other: break;
  }
  return 0x1p-24;
}

bool is_constant(const Sample& sample) {
  return sample.min == sample.max;
}

std::string constant_text(double value) {
  return value == 0 ? "zeros" : value == 1 ? "ones" : "constant";
}

std::string values_text(const Sample& sample) {
  if (is_constant(sample)) return "all values are " + number_text(sample.mean);
  return fmt::format("mean {} and std {}", number_text(sample.mean), number_text(sample.std));
}

void fail(AuditedParameter& parameter, Fault fault, std::string verdict) {
  parameter.fault = fault;
  parameter.verdict = std::move(verdict);
}

bool check_finite(AuditedParameter& parameter) {
  const Sample& sample = parameter.sample;
  if (sample.nans == 0 && sample.infinities == 0) return true;
  std::string what;
  if (sample.nans > 0) what = fmt::format("{} NaN", sample.nans);
  if (sample.infinities > 0)
    what += fmt::format("{}{} infinite", what.empty() ? "" : " and ", sample.infinities);
  fail(parameter, Fault::not_finite,
       fmt::format("{} of {} values", what, sample.count + sample.nans + sample.infinities));
  return false;
}

/// The farthest value from the mean, in standard deviations of what was due.
double farthest(const Sample& sample, double std) {
  return std::max(sample.max - sample.mean, sample.mean - sample.min) / std;
}

/// How many values are `rare`, by the fourth moment, which they make up: those of a normal of the
/// std that is due are far smaller. 0: none, or more than chance gives.
double count_rare(const Sample& sample, double rare, double std) {
  if (rare == 0 || static_cast<float>(sample.min) != static_cast<float>(rare)) return 0;
  const auto n = static_cast<double>(sample.count);
  const double fourth = n * sample.kurtosis * std::pow(sample.std, 4);
  const double found = std::round((fourth - 3 * n * std::pow(std, 4)) / std::pow(rare, 4));
  // Poisson; five of its standard deviations, and three more where it is far from normal.
  const double due = n * 0x1p-24;
  return found <= due + 5 * std::sqrt(due) + 3 ? std::max(0.0, found) : 0;
}

/// The sample of the other values, which are as far below the mean as they are above.
Sample without_rare(const Sample& sample, double rare, double count) {
  const auto n = static_cast<double>(sample.count);
  const double far = rare - sample.mean, left = n - count;
  const double square = n * sample.std * sample.std;
  Sample others = sample;
  others.count -= static_cast<std::int64_t>(count);
  others.mean -= count * far / left;
  const double shift = others.mean - sample.mean;
  others.std = std::sqrt((square - count * far * far) / left - shift * shift);
  others.kurtosis = (sample.kurtosis * square * square / n - count * std::pow(far, 4)) /
                    (left * std::pow(others.std, 4));
  others.min = 2 * others.mean - others.max;
  return others;
}

}  // namespace

void Judge::judge(const Expectation& expectation, Dtype dtype, AuditedParameter& parameter) const {
  const double rare = count_rare(parameter.sample, expectation.rare, expectation.due.std);
  if (rare == 0) return judge_all(expectation, dtype, parameter);
  const Sample whole = parameter.sample;
  parameter.sample = without_rare(whole, expectation.rare, rare);
  judge_all(expectation, dtype, parameter);
  parameter.sample = whole;
  if (parameter.fault != Fault::none) return;
  parameter.remark = fmt::format(
      "{} {} {}, where torch's trunc_normal_ cuts: it draws one of 2^24 there", number_text(rare),
      rare == 1 ? "value is" : "values are", number_text(expectation.rare));
}

void Judge::judge_all(const Expectation& expectation, Dtype dtype,
                      AuditedParameter& parameter) const {
  const double rounding = rounding_of(dtype);
  if (!check_finite(parameter) || parameter.sample.count == 0) return;
  parameter.distribution = is_constant(parameter.sample) ? constant_text(parameter.sample.mean)
                                                         : form_of(parameter, rounding);
  if (expectation.due.std == 0)
    judge_constant(expectation, parameter);
  else
    judge_drawn(expectation, rounding, parameter);
}

void Judge::judge_constant(const Expectation& expectation, AuditedParameter& parameter) const {
  const Sample& sample = parameter.sample;
  // In 16 bits a constant is its nearest number.
  const bool right = is_constant(sample) && std::abs(sample.mean - expectation.mean) <=
                                                std::abs(expectation.mean) * 0x1p-8;
  if (right) {
    parameter.rule = expectation.due.text;
    return;
  }
  std::optional<Rule> rule;
  if (!is_constant(sample)) rule = found(expectation, parameter, 0);
  if (rule) parameter.rule = rule->text;
  if (is_constant(sample)) parameter.rule = constant_text(sample.mean);
  std::string verdict =
      fmt::format("{}, but {} was due", values_text(sample), number_text(expectation.mean));
  if (rule && sample.count > 1)
    verdict += fmt::format(": {}{}{}", rule->text, rule->reason.empty() ? "" : ", ", rule->reason);
  fail(parameter, Fault::wrong_constant, verdict);
}

void Judge::judge_drawn(const Expectation& expectation, double rounding,
                        AuditedParameter& parameter) const {
  const Rule& due = expectation.due;
  const Sample& sample = parameter.sample;
  set_errors(due, rounding, parameter);
  const double mean_band = bands_.quantile() * std::max(due.std, sample.std) /
                           std::sqrt(static_cast<double>(sample.count));
  if (is_constant(sample) && sample.count > 1) {
    parameter.rule = constant_text(sample.mean);
    fail(parameter, Fault::wrong_constant,
         fmt::format("{}, but the std {} was due", values_text(sample),
                     with_value(due.text, due.std)));
    return;
  }
  Rule of_this_std = due;
  of_this_std.any_form = true;
  if (fits(of_this_std, parameter, rounding)) {
    parameter.rule = due.text;
    judge_form(due, rounding, parameter);
  } else {
    for (const Rule& rule : expectation.accepted) {
      if (!fits(rule, parameter, rounding)) continue;
      parameter.rule = parameter.expected_rule = rule.text;
      parameter.expected_std = rule.std;
      set_errors(rule, rounding, parameter);
      parameter.remark =
          fmt::format("{} ({}), where {} is due by the model; both are in use",
                      with_value(rule.text, rule.std), rule.reason, with_value(due.text, due.std));
      judge_form(rule, rounding, parameter);
      break;
    }
    if (parameter.rule.empty()) blame(due, found(expectation, parameter, rounding), parameter);
  }
  if (parameter.fault == Fault::none &&
      std::abs(sample.mean - expectation.mean) > mean_band + rounding * std::abs(sample.mean))
    fail(parameter, Fault::wrong_mean,
         fmt::format("the mean is {}, but {} was due (+- {} for so many values)",
                     number_text(sample.mean), number_text(expectation.mean),
                     number_text(mean_band)));
}

void Judge::set_errors(const Rule& due, double rounding, AuditedParameter& parameter) const {
  const Family& family = family_of(due.start);
  const Sample& sample = parameter.sample;
  parameter.standard_error = due.std * std_error(family, sample.count);
  parameter.z = (sample.std - due.std) / parameter.standard_error;
  const Bands::Ratio ratio = bands_.std_ratio(family, sample.count);
  parameter.band = due.std * (std::max(ratio.high - 1, 1 - ratio.low) + rounding);
}

/// The std is right; what of its form?
void Judge::judge_form(const Rule& due, double rounding, AuditedParameter& parameter) const {
  if (due.any_form || due.start == Start::orthogonal || has_form(due.start, parameter, rounding))
    return;
  if (parameter.distribution == "other") {
    fail(parameter, Fault::wrong_distribution,
         fmt::format("the std is right, but no {} has a kurtosis of {:.3g} and a value {:.3g} std "
                     "from the mean",
                     to_string(due.start), parameter.sample.kurtosis,
                     farthest(parameter.sample, parameter.sample.std)));
    return;
  }
  const std::string text =
      fmt::format("{}, where {} of the same std is due",
                  parameter.distribution.empty() ? "another distribution" : parameter.distribution,
                  to_string(due.start));
  if (strict_)
    fail(parameter, Fault::wrong_distribution, text);
  else
    parameter.remark = text;
}

void Judge::blame(const Rule& due, const std::optional<Rule>& rule, AuditedParameter& parameter) {
  if (!rule) {
    fail(parameter, Fault::wrong_std,
         fmt::format("{}, which no known rule gives; {} was due", number_text(parameter.sample.std),
                     with_value(due.text, due.std)));
    return;
  }
  parameter.rule = rule->text;
  fail(parameter, Fault::wrong_std,
       fmt::format("{}, but {} was due{}{}", with_value(rule->text, rule->std),
                   with_value(due.text, due.std), rule->reason.empty() ? "" : ": ", rule->reason));
}

std::optional<Rule> Judge::found(const Expectation& expectation, const AuditedParameter& parameter,
                                 double rounding) const {
  if (!expectation.others) return std::nullopt;
  for (Rule& rule : expectation.others())
    if (fits(rule, parameter, rounding)) return std::move(rule);
  return std::nullopt;
}

bool Judge::fits(const Rule& rule, const AuditedParameter& parameter, double rounding) const {
  const Sample& sample = parameter.sample;
  if (rule.std == 0) return false;
  const double ratio = sample.std / rule.std;
  const auto within = [&](const Family& family) {
    const Bands::Ratio allowed = bands_.std_ratio(family, sample.count);
    return ratio >= allowed.low - rounding && ratio <= allowed.high + rounding;
  };
  if (!rule.any_form)
    return within(family_of(rule.start)) && has_form(rule.start, parameter, rounding);
  // The form that was found, or else the widest band.
  for (const Family& family : families())
    if (to_string(family.start) == parameter.distribution) return within(family);
  return within(family_of(Start::normal));
}

bool Judge::has_form(Start form, const AuditedParameter& parameter, double rounding) const {
  const Family& family = family_of(form);
  const Sample& sample = parameter.sample;
  // Of the true std and mean, which those of the sample are within their bands of.
  const double scale = 1 / bands_.std_ratio(family, sample.count).low;
  const double shift = bands_.quantile() / std::sqrt(static_cast<double>(sample.count));
  const double deviations = farthest(sample, sample.std) / (scale * (1 + 2 * rounding)) - shift;
  return bands_.kurtosis_fits(family, sample) &&
         bands_.extreme_fits(family, sample.count, deviations);
}

std::string Judge::form_of(const AuditedParameter& parameter, double rounding) const {
  std::string found;
  for (const Family& family : families()) {
    if (!has_form(family.start, parameter, rounding)) continue;
    if (!found.empty()) return {};
    found = to_string(family.start);
  }
  return found.empty() ? "other" : found;
}

}  // namespace scalecalc::audit_room
