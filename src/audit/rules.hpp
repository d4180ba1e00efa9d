#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scalecalc/audit.hpp"

namespace scalecalc::audit_room {

/// One way in which a parameter may have been drawn.
struct Rule {
  std::string text;    ///< "sqrt(2/(fan_in + fan_out))"
  std::string reason;  ///< why it is not what was due: "not scaled by 1/sqrt(2N)"; may be empty
  double std = 0;
  Start start = Start::normal;
  bool any_form = false;  ///< the distribution is not part of the rule
  bool is_drawn = false;  ///< whatever the form, entries are drawn: no two tensors are equal
};

/// Its own std, whatever the form.
Rule plain_rule(std::string text, double std, std::string reason = {});
/// LeCun, Xavier, He and the default of PyTorch's layers, for one pair of fans.
void add_fan_rules(double in, double out, const std::string& reason, std::vector<Rule>& rules);
/// The constants that models draw whole tensors with.
void add_constant_rules(std::vector<Rule>& rules);

/// What the rules of one plan are made of.
class RuleBook {
 public:
  RuleBook(const ModelSpec& spec, const InitPlan& plan);

  /// The std that is due, as a text: "0.02/sqrt(2*N)".
  std::string due(std::size_t parameter) const;
  Rule rule_due(std::size_t parameter) const;
  /// What else may have been applied, likeliest first. `packed` is the number of outputs of the
  /// whole tensor, of which the parameter may be a part.
  std::vector<Rule> others(std::size_t parameter, std::int64_t packed) const;

 private:
  void add_variants(std::size_t parameter, std::vector<Rule>& rules) const;
  void add_roles(std::size_t parameter, std::vector<Rule>& rules) const;
  void add_bias(std::size_t parameter, std::vector<Rule>& rules) const;
  bool ends_scaled_branch(const PlannedParameter& parameter) const;
  void add_fans(std::size_t parameter, std::int64_t packed, std::vector<Rule>& rules) const;

  const ModelSpec& spec_;
  const InitPlan& plan_;
  double branches_ = 0, lambda_ = 1;
  std::string branches_text_;
  /// One parameter of each role and std.
  std::vector<std::size_t> roles_;
};

/// "0.02/sqrt(2*N) = 0.00408248", or just the number.
std::string with_value(const std::string& text, double value);
/// Six significant digits.
std::string number_text(double value);

}  // namespace scalecalc::audit_room
