#include "export/rules.hpp"

#include <map>

namespace scalecalc::export_room {
namespace {

bool alike(const FilledTensor& a, const FilledTensor& b) {
  return a.shape == b.shape && a.axis == b.axis && a.zero_row == b.zero_row && a.fills == b.fills &&
         a.step == b.step;
}

}  // namespace

std::vector<Rule> rules_of(const CodePlan& plan) {
  std::vector<Rule> rules;
  std::map<std::string, std::vector<std::size_t>> of_pattern;
  for (const FilledTensor& tensor : plan.tensors) {
    std::vector<std::size_t>& same = of_pattern[tensor.pattern];
    std::size_t at = rules.size();
    for (const std::size_t i : same)
      if (alike(rules[i].first, tensor)) at = i;
    if (at == rules.size()) {
      same.push_back(at);
      rules.push_back({tensor, {}, 0});
    }
    rules[at].indices.push_back(tensor.indices);
  }
  for (Rule& rule : rules) {
    rule.tensors = rule.indices.size();
    if (of_pattern[rule.first.pattern].size() == 1) rule.indices.clear();
  }
  return rules;
}

}  // namespace scalecalc::export_room
