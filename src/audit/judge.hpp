#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "audit/family.hpp"
#include "audit/rules.hpp"
#include "weights/safetensors.hpp"

namespace scalecalc::audit_room {

/// Comparisons that are made of one drawn parameter: mean, std, kurtosis, farthest value.
constexpr std::size_t comparisons_of_one = 4;

/// What a judge knows of one parameter beside its sample.
struct Expectation {
  Rule due;  ///< std 0: every value is `mean`
  double mean = 0;
  double rare = 0;                            ///< LibraryTensor::rare
  std::vector<Rule> accepted;                 ///< also right
  std::function<std::vector<Rule>()> others;  ///< known mistakes, likeliest first
};

/// Fills in distribution, rule, fault, verdict, remark and the standard error of a parameter whose
/// sample is known.
class Judge {
 public:
  Judge(const Bands& bands, bool strict) : bands_(bands), strict_(strict) {}
  void judge(const Expectation& expectation, weights::Dtype dtype,
             AuditedParameter& parameter) const;

 private:
  void judge_all(const Expectation& expectation, weights::Dtype dtype,
                 AuditedParameter& parameter) const;
  bool fits(const Rule& rule, const AuditedParameter& parameter, double rounding) const;
  bool has_form(Start form, const AuditedParameter& parameter, double rounding) const;
  std::string form_of(const AuditedParameter& parameter, double rounding) const;
  void judge_constant(const Expectation& expectation, AuditedParameter& parameter) const;
  void judge_drawn(const Expectation& expectation, double rounding,
                   AuditedParameter& parameter) const;
  void set_errors(const Rule& due, double rounding, AuditedParameter& parameter) const;
  void judge_form(const Rule& due, double rounding, AuditedParameter& parameter) const;
  std::optional<Rule> found(const Expectation& expectation, const AuditedParameter& parameter,
                            double rounding) const;
  static void blame(const Rule& due, const std::optional<Rule>& rule, AuditedParameter& parameter);

  const Bands& bands_;
  bool strict_;
};

}  // namespace scalecalc::audit_room
