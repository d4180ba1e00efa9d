#include "architectures/solve.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "architectures/finder.hpp"

namespace scalecalc::architectures {
namespace {

constexpr int kMostWidth = 256;

/// Facts about one key alone: each key has the value that is told most often.
void vote(const std::vector<Fact>& facts, Finder& finder) {
  struct Best {
    Finder::Pointer at;
    Value value;
    int times = 0;
  };
  std::map<std::string, Best> best;
  std::map<std::string, std::size_t> lengths;
  for (const Fact& fact : facts) {
    const auto at = finder.place(fact.expression);
    if (!at) continue;
    Best& of_key = best[at->to_string()];
    if (fact.times > of_key.times) of_key = {*at, fact.value, fact.times};
    const Expression& expression = fact.expression;
    if (expression.name() != "[]" ||
        expression.operands()[1].text().find_first_not_of("0123456789") != std::string::npos)
      continue;
    std::size_t& length = lengths[at->parent_pointer().to_string()];
    length = std::max<std::size_t>(length, std::stoul(at->back()) + 1);
  }
  for (const auto& [list, length] : lengths) finder.resize(Finder::Pointer(list), length);
  for (const auto& [key, of_key] : best)
    if (finder.set(of_key.at, of_key.value)) finder.settle(of_key.at);
}

/// Whether a fact tells a bound or a member alone, not the value of its key.
bool is_loose(const Fact& fact) {
  const std::string& text = fact.expression.text();
  return fact.value.is_boolean() && text.find_first_of("<>!%") != std::string::npos;
}

class Settlement {
 public:
  Settlement(const std::vector<Fact>& facts, Finder& finder) : facts_(facts), finder_(finder) {}

  /// Solves what has one unknown until nothing has, then the first of what is left, and so on;
  /// bounds at last. Returns how many facts do not hold.
  std::size_t run() {
    vote(facts_, finder_);
    while (settle_single() || settle_any()) continue;
    for (std::size_t round = 0; round < kRoundsOfBounds; ++round)
      for (const Fact& fact : facts_)
        if (is_loose(fact)) finder_.solve(fact);
    return static_cast<std::size_t>(std::count_if(
        facts_.begin(), facts_.end(), [&](const Fact& fact) { return !finder_.holds(fact); }));
  }

 private:
  bool is_open(const Fact& fact) const { return !is_loose(fact) && given_up_.count(&fact) == 0; }

  bool settle_single() {
    bool went_on = false;
    for (const Fact& fact : facts_) {
      const std::set<std::string> unknown = finder_.unknowns(fact.expression);
      if (unknown.size() != 1 || !is_open(fact)) continue;
      if (finder_.solve(fact)) {
        finder_.settle(Finder::Pointer(*unknown.begin()));
        went_on = true;
      } else {
        given_up_.insert(&fact);
      }
    }
    return went_on;
  }

  bool settle_any() {
    for (const Fact& fact : facts_) {
      if (finder_.holds(fact) || !is_open(fact)) continue;
      const std::set<std::string> unknown = finder_.unknowns(fact.expression);
      const Value before = finder_.config();
      if (unknown.empty() || !finder_.solve(fact)) {
        given_up_.insert(&fact);
        continue;
      }
      const Value& after = finder_.config();
      for (const std::string& key : unknown) {
        const Finder::Pointer at(key);
        if (after.contains(at) && (!before.contains(at) || before.at(at) != after.at(at)))
          finder_.settle(at);
      }
      return true;
    }
    return false;
  }

  static constexpr std::size_t kRoundsOfBounds = 2;

  const std::vector<Fact>& facts_;
  Finder& finder_;
  std::set<const Fact*> given_up_;
};

/// The common ones first, then others that divide the product.
std::vector<int> widths(double product) {
  std::vector<int> all(std::begin(Finder::kCommonWidths), std::end(Finder::kCommonWidths));
  for (int width = kMostWidth; width > 0; --width)
    if (std::find(all.begin(), all.end(), width) == all.end()) all.push_back(width);
  std::erase_if(all, [&](int width) { return std::fmod(product, width) != 0; });
  return all;
}

}  // namespace

Solution solve(const Family& family, std::vector<Fact> facts) {
  std::stable_sort(facts.begin(), facts.end(),
                   [](const Fact& a, const Fact& b) { return a.times > b.times; });
  std::vector<int> left = {Finder::kCommonWidths[0]};
  std::optional<Solution> best;
  for (std::size_t tried = 0; tried < left.size(); ++tried) {
    Finder finder(family, left[tried]);
    const std::size_t unsolved = Settlement(facts, finder).run();
    if (!best || unsolved < best->unsolved) best = finder.solution(unsolved);
    if (unsolved == 0 || !finder.product()) break;
    if (tried == 0) {
      left = widths(*finder.product());
      if (left.front() != Finder::kCommonWidths[0])
        left.insert(left.begin(), Finder::kCommonWidths[0]);
    }
  }
  return std::move(*best);
}

}  // namespace scalecalc::architectures
