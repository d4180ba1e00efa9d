#include "audit/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace scalecalc::audit_room {
namespace {

/// Tensors of one pattern with one fault.
struct Group {
  Fault fault = Fault::none;
  std::string pattern;
  std::set<std::string> tensors;
  std::vector<std::string> parts;
  const AuditedParameter* first = nullptr;
};

std::string pattern_of(const AuditedParameter& parameter) {
  return parameter.pattern.empty() ? parameter.name : parameter.pattern;
}

/// All tensors and parts of a pattern.
struct Extent {
  std::set<std::string> tensors, parts;
};

AuditFinding finding_of(const Group& group, const Extent& extent) {
  AuditFinding finding;
  finding.fault = group.fault;
  finding.what = group.pattern;
  if (group.parts.size() < extent.parts.size())
    finding.what += fmt::format(" ({})", fmt::join(group.parts, ", "));
  finding.count = group.tensors.size();
  finding.all = extent.tensors.size();
  finding.verdict = group.first->verdict;
  finding.first = group.first->name;
  return finding;
}

/// Verdicts of a group differ only where a measured value is in them.
std::vector<AuditFinding> grouped(const std::vector<AuditedParameter>& parameters) {
  std::map<std::string, Extent> extents;
  std::vector<Group> groups;
  std::map<std::tuple<std::string, Fault, std::string, std::string>, std::size_t> at;
  for (const AuditedParameter& parameter : parameters) {
    const std::string pattern = pattern_of(parameter);
    extents[pattern].tensors.insert(parameter.name);
    extents[pattern].parts.insert(parameter.part);
    if (parameter.fault == Fault::none) continue;
    const auto [found, added] =
        at.emplace(std::tuple{pattern, parameter.fault, parameter.rule, parameter.expected_rule},
                   groups.size());
    if (added) groups.push_back({parameter.fault, pattern, {}, {}, &parameter});
    Group& group = groups[found->second];
    group.tensors.insert(parameter.name);
    if (std::find(group.parts.begin(), group.parts.end(), parameter.part) == group.parts.end())
      group.parts.push_back(parameter.part);
  }
  std::vector<AuditFinding> findings;
  for (const Group& group : groups) findings.push_back(finding_of(group, extents[group.pattern]));
  std::stable_sort(findings.begin(), findings.end(),
                   [](const AuditFinding& a, const AuditFinding& b) { return a.count > b.count; });
  return findings;
}

std::string remark_of(const AuditedParameter& parameter) {
  return fmt::format("{}: {}", pattern_of(parameter), parameter.remark);
}

std::vector<std::string> remarks_of(const std::vector<AuditedParameter>& parameters) {
  std::vector<std::string> remarks;
  for (const AuditedParameter& parameter : parameters) {
    if (parameter.remark.empty()) continue;
    const std::string remark = remark_of(parameter);
    if (std::find(remarks.begin(), remarks.end(), remark) == remarks.end())
      remarks.push_back(remark);
  }
  return remarks;
}

/// Matrices that have the std of another role, by role.
struct Exchange {
  std::map<std::string, std::string> has;  ///< role -> rule it has
  std::map<std::string, std::string> due;
};

std::string role_of(const AuditedParameter& parameter) {
  if (!parameter.part.empty()) return parameter.part;
  const std::size_t dot = parameter.path.rfind('.');
  const std::string site = parameter.path.substr(0, dot);
  const std::size_t block = site.find("].");
  return block == std::string::npos ? site : site.substr(block + 2);
}

/// Two matrices of which each has what the other is due: the wrong one was scaled.
void find_exchange(const std::vector<AuditedParameter>& parameters,
                   std::vector<std::string>& conclusions) {
  Exchange exchange;
  for (const AuditedParameter& parameter : parameters) {
    if (parameter.fault != Fault::wrong_std || parameter.rule.empty()) continue;
    exchange.has.emplace(role_of(parameter), parameter.rule);
    exchange.due.emplace(role_of(parameter), parameter.expected_rule);
  }
  for (const auto& [role, rule] : exchange.has)
    for (const auto& [other, its_rule] : exchange.has)
      if (role < other && rule == exchange.due[other] && its_rule == exchange.due[role] &&
          rule != its_rule)
        conclusions.push_back(
            fmt::format("{} has what {} is due, and the other way round: the wrong matrix was "
                        "scaled",
                        role, other));
}

void find_trained(const Audit& audit, std::vector<std::string>& conclusions) {
  std::size_t drawn = 0, without_rule = 0;
  for (const AuditedParameter& parameter : audit.parameters) {
    if (parameter.expected_std == 0 || parameter.standard_error == 0) continue;
    ++drawn;
    if (parameter.fault == Fault::wrong_std && parameter.rule.empty()) ++without_rule;
  }
  if (drawn >= 4 && 2 * without_rule > drawn)
    conclusions.push_back(
        fmt::format("{} of {} drawn parameters follow no known rule: these weights look trained, "
                    "and an audit is of weights as they start",
                    without_rule, drawn));
}

/// The index in "block[3].attn"; -1 of other paths.
std::int64_t last_block(const std::string& path) {
  const std::string start = "block[";
  if (!path.starts_with(start)) return -1;
  return std::stoll(path.substr(start.size()));
}

void find_size(const ModelSpec& spec, const Audit& audit, std::vector<std::string>& conclusions) {
  std::int64_t blocks = 0;
  std::set<std::string> all, misshapen;
  for (const AuditedParameter& parameter : audit.parameters) {
    if (parameter.fault == Fault::missing) continue;
    blocks = std::max(blocks, last_block(parameter.path) + 1);
    all.insert(parameter.name);
    if (parameter.fault == Fault::wrong_shape) misshapen.insert(parameter.name);
  }
  const std::int64_t depth = spec.encoder_decoder ? decoder_depth(spec) : spec.layers;
  if (blocks > 0 && blocks != depth)
    conclusions.push_back(
        fmt::format("the file has {} blocks, where the model has {}: is another depth meant "
                    "({} {})?",
                    blocks, depth, spec.encoder_decoder ? "--decoder-layers" : "--layers", blocks));
  if (2 * misshapen.size() > all.size())
    conclusions.push_back(
        fmt::format("{} of {} tensors have other shapes: is a model of another size meant "
                    "(--width, --heads, --ffn, --vocab, --sequence)?",
                    misshapen.size(), all.size()));
}

void find_missing_biases(const ModelSpec& spec, const Audit& audit,
                         std::vector<std::string>& conclusions) {
  std::size_t biases = 0, missing = 0;
  for (const AuditedParameter& parameter : audit.parameters) {
    if (!parameter.path.ends_with(".bias")) continue;
    ++biases;
    if (parameter.fault == Fault::missing) ++missing;
  }
  if (biases_of(spec).any() && biases > 0 && missing == biases)
    conclusions.push_back("no bias is in the file: is the model one with bias = false?");
}

}  // namespace

void summarise(const ModelSpec& spec, Audit& audit) {
  std::vector<std::string> of_the_model;
  find_size(spec, audit, of_the_model);
  find_missing_biases(spec, audit, of_the_model);
  summarise(audit);
  audit.conclusions.insert(audit.conclusions.begin(), of_the_model.begin(), of_the_model.end());
}

void find_common_std(Audit& audit) {
  constexpr std::size_t kFewest = 3;
  std::map<std::string, std::vector<const AuditedParameter*>> by_rule;
  for (const AuditedParameter& parameter : audit.parameters)
    if (parameter.standard_error > 0) by_rule[parameter.expected_rule].push_back(&parameter);
  for (const auto& [rule, those] : by_rule) {
    double squares = 0, values = 0;
    for (const AuditedParameter* one : those) {
      const auto count = static_cast<double>(one->sample.count);
      squares += count * one->sample.std * one->sample.std;
      values += count;
    }
    const double common = std::sqrt(squares / values);
    const bool alike = std::all_of(those.begin(), those.end(), [&](const AuditedParameter* one) {
      return one->fault == Fault::wrong_std &&
             std::abs(one->sample.std - common) <= one->band * common / one->expected_std;
    });
    if (alike && those.size() >= kFewest)
      audit.conclusions.push_back(fmt::format(
          "all {} tensors that are due {} have the std {:.2g}: were they made with another value "
          "of what this rule names?",
          those.size(), rule, common));
  }
}

void summarise(Audit& audit) {
  audit.findings = grouped(audit.parameters);
  audit.remarks = remarks_of(audit.parameters);
  audit.conclusions.clear();
  find_exchange(audit.parameters, audit.conclusions);
  find_trained(audit, audit.conclusions);
  audit.passed = audit.findings.empty();
}

}  // namespace scalecalc::audit_room
