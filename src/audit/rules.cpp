#include "audit/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "audit/family.hpp"
#include "network/weights.hpp"

namespace scalecalc::audit_room {
namespace {

constexpr double gpt2_std = 0.02;
/// Constants that models draw whole tensors with.
constexpr double constants[] = {0.02, 0.01, 0.006, 0.05, 0.1, 1.0};

bool ends_branch(const std::string& role) {
  return role == "o" || role == "ffn_out";
}

/// The default of torch.nn.Linear and of convolutions, weights and biases: kaiming_uniform with
/// a = sqrt(5), U(-1/sqrt(fan_in), 1/sqrt(fan_in)), of the variance 1/(3 fan_in).
Rule torch_default(double fan_in, const std::string& reason) {
  Rule rule;
  rule.text = "1/sqrt(3*fan_in)";
  rule.reason = "U(+-1/sqrt(fan_in)), the default of PyTorch's layers" + reason;
  rule.std = 1 / std::sqrt(3 * fan_in);
  rule.start = Start::uniform;
  return rule;
}

}  // namespace

Rule plain_rule(std::string text, double std, std::string reason) {
  Rule rule;
  rule.text = std::move(text);
  rule.reason = std::move(reason);
  rule.std = std;
  rule.any_form = true;
  return rule;
}

void add_fan_rules(double in, double out, const std::string& reason, std::vector<Rule>& rules) {
  rules.push_back(plain_rule("1/sqrt(fan_in)", 1 / std::sqrt(in), "LeCun" + reason));
  rules.push_back(
      plain_rule("sqrt(2/(fan_in + fan_out))", std::sqrt(2 / (in + out)), "Xavier" + reason));
  rules.push_back(plain_rule("sqrt(2/fan_in)", std::sqrt(2 / in), "He" + reason));
  rules.push_back(torch_default(in, reason));
}

void add_constant_rules(std::vector<Rule>& rules) {
  for (const double value : constants) rules.push_back(plain_rule(number_text(value), value));
}

std::string number_text(double value) {
  return fmt::format("{:.6g}", value);
}

std::string with_value(const std::string& text, double value) {
  const std::string number = number_text(value);
  return text == number ? text : text + " = " + number;
}

RuleBook::RuleBook(const ModelSpec& spec, const InitPlan& plan) : spec_(spec), plan_(plan) {
  const std::int64_t each = sublayers(spec);
  branches_ = static_cast<double>(each * spec.layers);
  branches_text_ = fmt::format("sqrt({}*N)", each);
  std::set<std::pair<std::string, double>> seen;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    const PlannedParameter& parameter = plan.parameters[i];
    if (parameter.is_matrix && parameter.std > 0 &&
        seen.emplace(parameter.role, parameter.std).second)
      roles_.push_back(i);
  }
}

bool RuleBook::ends_scaled_branch(const PlannedParameter& parameter) const {
  return spec_.kind == ModelSpec::Kind::transformer && spec_.init.scheme == "gpt2" &&
         ends_branch(parameter.role) && parameter.gain == 1;
}

std::string RuleBook::due(std::size_t index) const {
  const PlannedParameter& parameter = plan_.parameters[index];
  if (parameter.std == 0) return number_text(parameter.mean);
  if (ends_scaled_branch(parameter)) return "0.02/" + branches_text_;
  const Expr formula = parse(parameter.formula);
  return formula.is_number() ? number_text(parameter.std) : parameter.formula;
}

Rule RuleBook::rule_due(std::size_t index) const {
  const PlannedParameter& parameter = plan_.parameters[index];
  Rule rule;
  rule.text = due(index);
  rule.std = parameter.std;
  rule.start = parameter.start;
  return rule;
}

std::vector<Rule> RuleBook::others(std::size_t index, std::int64_t packed) const {
  const PlannedParameter& parameter = plan_.parameters[index];
  std::vector<Rule> rules;
  if (!parameter.is_matrix) {
    add_bias(index, rules);
  } else {
    if (parameter.std > 0) add_variants(index, rules);
    if (parameter.role != "embedding") {
      add_fans(index, packed, rules);
      add_roles(index, rules);
    } else {
      const auto width = static_cast<double>(parameter.columns);
      rules.push_back(plain_rule("1/sqrt(width)", 1 / std::sqrt(width)));
    }
  }
  add_constant_rules(rules);
  if (parameter.std > 0) {
    const double root = std::sqrt(2.0);
    rules.push_back(plain_rule(due(index) + "*sqrt(2)", parameter.std * root, "off by sqrt(2)"));
    rules.push_back(plain_rule(due(index) + "/sqrt(2)", parameter.std / root, "off by sqrt(2)"));
  }
  const double truncated = 2 / family_of(Start::truncated_normal).bound;
  const std::size_t whole = rules.size();
  const auto add_truncated = [&](const Rule& rule, const std::string& reason) {
    Rule cut = rule;
    cut.std *= truncated;
    cut.start = Start::truncated_normal;
    cut.any_form = false;
    cut.text = "0.8796*" + rule.text;
    cut.reason = reason;
    rules.push_back(std::move(cut));
  };
  if (parameter.std > 0)
    add_truncated(rule_due(index), "truncated at 2 std without the correction 1/0.8796");
  for (std::size_t i = 0; i < whole; ++i)
    if (rules[i].any_form)
      add_truncated(plain_rule(rules[i].text, rules[i].std),
                    (rules[i].reason.empty() ? "" : rules[i].reason + ", ") + "truncated at 2 std");
  return rules;
}

void RuleBook::add_variants(std::size_t index, std::vector<Rule>& rules) const {
  const PlannedParameter& parameter = plan_.parameters[index];
  const std::string text = due(index);
  const double std = parameter.std, root = std::sqrt(branches_);
  if (ends_scaled_branch(parameter)) {
    rules.push_back(plain_rule("0.02", gpt2_std, "not scaled by 1/" + branches_text_));
    rules.push_back(plain_rule("0.02/sqrt(N)",
                               gpt2_std / std::sqrt(static_cast<double>(spec_.layers)),
                               "scaled by N layers in place of all branches"));
    rules.push_back(plain_rule(text + "/" + branches_text_, std / root,
                               "scaled by 1/" + branches_text_ + " twice"));
  } else if (spec_.kind == ModelSpec::Kind::transformer && parameter.role != "embedding") {
    const std::string reason = spec_.init.scheme == "gpt2" ? ", which is due to o and ffn_out alone"
                                                           : ", which is not due";
    rules.push_back(plain_rule(text + "/" + branches_text_, std / root,
                               "scaled by 1/" + branches_text_ + reason));
  }
  if (parameter.gain != 1 && parameter.gain != 0)
    rules.push_back(plain_rule("(" + text + ")/gain", std / parameter.gain,
                               fmt::format("without the gain {}", number_text(parameter.gain))));
  std::set<double> gains;
  for (const std::size_t other : roles_) gains.insert(plan_.parameters[other].gain);
  for (const double gain : gains)
    if (gain != parameter.gain && gain != 1 && gain > 0)
      rules.push_back(
          plain_rule(fmt::format("{}*({})", number_text(gain), text), std / parameter.gain * gain,
                     fmt::format("with the gain {}, which is due to others", number_text(gain))));
  rules.push_back(plain_rule("(" + text + ")^2", std * std, "the variance taken for the std"));
  rules.push_back(
      plain_rule("sqrt(" + text + ")", std::sqrt(std), "the std taken for the variance"));
}

void RuleBook::add_roles(std::size_t index, std::vector<Rule>& rules) const {
  const PlannedParameter& parameter = plan_.parameters[index];
  for (const std::size_t other : roles_) {
    const PlannedParameter& there = plan_.parameters[other];
    if (there.role == parameter.role || there.role == "embedding") continue;
    Rule rule = plain_rule(due(other), there.std, "what " + there.role + " is due");
    rules.push_back(std::move(rule));
  }
}

void RuleBook::add_fans(std::size_t index, std::int64_t packed, std::vector<Rule>& rules) const {
  const PlannedParameter& parameter = plan_.parameters[index];
  const auto in = static_cast<double>(parameter.rows), out = static_cast<double>(parameter.columns);
  if (packed != parameter.columns)
    rules.push_back(plain_rule("sqrt(2/(fan_in + fan_out))",
                               std::sqrt(2 / (in + static_cast<double>(packed))),
                               "Xavier over the packed shape"));
  add_fan_rules(in, out, "", rules);
  if (packed != parameter.columns)
    add_fan_rules(static_cast<double>(packed), in,
                  " over the packed shape, fan_in and fan_out exchanged", rules);
  if (in != out) add_fan_rules(out, in, " with fan_in and fan_out exchanged", rules);
  rules.push_back(plain_rule("sqrt(2/(5*fan_in))", std::sqrt(2 / (5 * in)), "small init"));
}

void RuleBook::add_bias(std::size_t index, std::vector<Rule>& rules) const {
  const std::string& path = plan_.parameters[index].path;
  const std::string suffix = ".bias";
  if (!path.ends_with(suffix)) return;
  const std::string weight = path.substr(0, path.size() - suffix.size()) + ".weight";
  for (std::size_t i = index; i-- > 0;) {
    if (plan_.parameters[i].path != weight) continue;
    rules.push_back(torch_default(static_cast<double>(plan_.parameters[i].rows), ""));
    return;
  }
}

}  // namespace scalecalc::audit_room
