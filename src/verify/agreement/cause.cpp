#include "verify/agreement/cause.hpp"

#include <algorithm>
#include <string_view>

namespace scalecalc {
namespace {

bool is_gradient(const Comparison& comparison) {
  return comparison.quantity.starts_with("grad_");
}

std::string_view parent(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view leaf(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

class Search {
 public:
  Search(const Trace& predicted, const Verification& verification)
      : predicted_(predicted), verification_(verification) {}

  std::vector<Cause> causes() {
    const auto& sites = verification_.sites;
    const auto forward = std::find_if(sites.begin(), sites.end(),
                                      [](const Comparison& c) { return !c.ok && !is_gradient(c); });
    if (forward != sites.end()) blame(*forward, rule_of(forward->path));
    const auto backward = std::find_if(sites.rbegin(), sites.rend(),
                                       [](const Comparison& c) { return !c.ok && is_gradient(c); });
    if (backward != sites.rend()) blame(*backward, rule_that_hands_back(backward->path));
    if (causes_.empty()) weights();
    return std::move(causes_);
  }

 private:
  void weights() {
    const auto& parameters = verification_.parameters;
    const auto last = std::find_if(parameters.rbegin(), parameters.rend(),
                                   [](const Comparison& c) { return !c.ok; });
    if (last == parameters.rend()) return;
    const std::string site(parent(last->path));
    blame(*last, is_gradient(*last) && feeds_attention(site) ? "attention" : rule_of(site));
  }

  std::size_t index_of(std::string_view path) const {
    const auto& sites = predicted_.sites;
    const auto found = std::find_if(sites.begin(), sites.end(),
                                    [&](const Site& site) { return site.path == path; });
    return static_cast<std::size_t>(found - sites.begin());
  }

  std::string rule_of(std::string_view path) const {
    const std::size_t index = index_of(path);
    return index < predicted_.sites.size() ? predicted_.sites[index].kind : std::string();
  }

  bool feeds_attention(std::string_view path) const {
    const std::string_view name = leaf(path);
    if (name != "q" && name != "k" && name != "v") return false;
    return index_of(std::string(parent(path)) + ".mix") < predicted_.sites.size();
  }

  /// The gradient of a site is handed back by the layer that reads it, which is the next one but
  /// for what attention and a gated unit read side by side; that of the last by the loss.
  std::string rule_that_hands_back(const std::string& path) const {
    if (feeds_attention(path)) return rule_of(std::string(parent(path)) + ".mix");
    if (leaf(path) == "gate") return rule_of(std::string(parent(path)) + ".act");
    const std::size_t next = index_of(path) + 1;
    return next < predicted_.sites.size() ? predicted_.sites[next].kind : "loss";
  }

  /// Assumptions that do not hold come first.
  void blame(const Comparison& failure, const std::string& rule) {
    const Premise* found = nullptr;
    for (const Premise& assumption : predicted_.assumptions)
      if (assumption.rule == rule && (found == nullptr || (found->holds && !assumption.holds)))
        found = &assumption;
    Cause cause{failure.path, failure.quantity, rule, {}, {}, true};
    if (found != nullptr) {
      cause.assumption = found->text;
      cause.condition = found->condition;
      cause.condition_holds = found->holds;
    }
    causes_.push_back(std::move(cause));
  }

  const Trace& predicted_;
  const Verification& verification_;
  std::vector<Cause> causes_;
};

}  // namespace

std::vector<Cause> likely_causes(const Trace& predicted, const Verification& verification) {
  return Search(predicted, verification).causes();
}

}  // namespace scalecalc
