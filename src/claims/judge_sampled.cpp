#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "claims/enclosed.hpp"
#include "claims/judge.hpp"
#include "claims/kinks.hpp"
#include "claims/worst.hpp"

namespace scalecalc::claims {
namespace {

using Verdict = MethodResult::Verdict;

constexpr int most_rounds = 4;
/// Below this share of what cancels, a difference in double is not to be relied on.
constexpr double lost_in_double = 1e-9;

SampleCounts counts_for(std::size_t symbols) {
  const int k = static_cast<int>(symbols);
  return {24 + 12 * k, 8 + 4 * k, 12, k > 1 ? 6 * k : 0, 1000000000, true};
}
/// What must have a value, for a verdict.
int least_points(std::size_t symbols) {
  return 8 + 4 * static_cast<int>(symbols);
}

std::string plural(int count) {
  return fmt::format("{} point{}", count, count == 1 ? "" : "s");
}

/// One assertion at many points.
class Trial {
 public:
  Trial(const Assertion& assertion, const Expr& left, const Expr& right,
        const std::vector<SymbolDomain>& symbols)
      : left_(left), right_(right), symbols_(symbols), relation_(assertion.relation) {
    low_ = left;
    high_ = right;
    if (assertion.within) {
      relation_ = Relation::at_most;
      low_ = 0;
      high_ = room_of(*assertion.within, left, right);
    }
    const bool below = relation_ == Relation::less || relation_ == Relation::at_most;
    lead_ = below ? high_ - low_ : low_ - high_;
    strict_ = relation_ == Relation::less || relation_ == Relation::greater;
  }

  Judgement run() {
    for (int round = 0; round < most_rounds && enough() == false && !refuted_; ++round) {
      samples_ = sample_points(symbols_, counts_for(symbols_.size()), std::uint64_t(round));
      try_samples();
    }
    if (relation_ != Relation::equal && !refuted_) search();
    return judgement();
  }

 private:
  bool enough() const { return points_ >= least_points(symbols_.size()); }

  void try_samples() {
    for (const Sample& sample : samples_)
      if (!refuted_) try_at(sample.at);
    if (refuted_) return;
    for (const Values& at : kink_points(lead_, symbols_, samples_))
      if (!refuted_) try_at(at);
  }

  void try_at(const Values& at) {
    const std::optional<Order> order = order_at(low_, high_, at, strict_);
    if (!order) return;
    ++points_;
    const int sign = *order == Order::less ? -1 : *order == Order::greater ? 1 : 0;
    if (satisfies(relation_, sign)) return;
    refuted_ = true;
    worst_ = at;
  }

  /// The lead of the side that is to be larger; with `as_share`, of what is added up in it.
  std::optional<double> room(const Values& at, bool as_share) const {
    try {
      const Bindings bindings = in_double(at);
      const double scale = magnitude(lead_, bindings);
      double lead = evaluate(lead_, bindings);
      if (!std::isfinite(scale) || !(scale > 0)) return std::nullopt;
      if (!(std::abs(lead) > lost_in_double * scale)) {
        const std::optional<double> certain = value_at(lead_, at);
        if (!certain) return std::nullopt;
        lead = *certain;
      }
      return as_share ? lead / scale : lead;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  /// Shares lead to where sides of any size are close, the lead itself to where it vanishes.
  void search() {
    double least = std::numeric_limits<double>::infinity();
    for (const bool as_share : {true, false})
      for (const Values& start : nearest(as_share)) {
        const Values found = descend(symbols_, start, as_share);
        if (refuted_) return;
        const double share = room(found, true).value_or(least);
        if (share < least) {
          least = share;
          worst_ = found;
        }
        if (strict_) touch(found, as_share);
        if (refuted_) return;
      }
  }

  std::vector<Values> nearest(bool as_share) const {
    constexpr std::size_t starts = 5;
    std::vector<std::pair<double, const Values*>> ranked;
    for (const Sample& sample : samples_)
      if (const std::optional<double> there = room(sample.at, as_share))
        ranked.emplace_back(*there, &sample.at);
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Values> points;
    for (std::size_t k = 0; k < std::min(starts, ranked.size()); ++k)
      points.push_back(*ranked[k].second);
    return points;
  }

  /// Downhill, and to what is simple beside the point that is found. The symbols that are not
  /// among those that move keep their values.
  Values descend(const std::vector<SymbolDomain>& moving, const Values& start, bool as_share) {
    const Room of = [&](const Values& at) {
      Values all = start;
      for (const auto& [name, value] : at) all[name] = value;
      return room(all, as_share);
    };
    const SearchLimits limits{400 * static_cast<int>(moving.size()), 1e-10};
    const Values moved = least_room(moving, start, of, limits);
    Values found = start;
    for (const auto& [name, value] : moved) found[name] = value;
    for (const Values& at : simple_neighbours(moving, found))
      if (!refuted_) try_at(at);
    if (!refuted_) try_at(found);
    return found;
  }

  /// Where sides are equal along a line, each symbol in turn is moved onto it, the others being
  /// simple numbers.
  void touch(const Values& found, bool as_share) {
    if (symbols_.size() < 2) return;
    for (const SymbolDomain& symbol : symbols_) {
      Values simple = simple_neighbours(symbols_, found).front();
      simple[symbol.first] = found.at(symbol.first);
      descend({symbol}, simple, as_share);
      if (refuted_) return;
    }
  }

  Judgement judgement() const {
    Judgement result;
    result.points = points_;
    result.worst = worst_;
    if (!worst_.empty()) {
      result.left = value_at(left_, worst_);
      result.right = value_at(right_, worst_);
    }
    if (refuted_) {
      result.verdict = Verdict::fails;
      result.proved = true;
      result.how =
          (relation_ == Relation::equal ? "different at " : "fails at ") + to_string(worst_);
    } else if (enough()) {
      result.verdict = Verdict::holds;
      result.how = "checked at " + plural(points_) +
                   (relation_ == Relation::equal ? ": equal to 50 digits" : "");
    } else {
      result.how = fmt::format("undecided: both sides have a value at {} only", plural(points_));
    }
    return result;
  }

  Expr left_, right_;
  const std::vector<SymbolDomain>& symbols_;
  Relation relation_;
  Expr low_, high_, lead_;
  bool strict_ = false;
  std::vector<Sample> samples_;
  int points_ = 0;
  bool refuted_ = false;
  Values worst_;
};

}  // namespace

Judgement judge_sampled(const Assertion& assertion, const Expr& left, const Expr& right,
                        const std::vector<SymbolDomain>& symbols) {
  return Trial(assertion, left, right, symbols).run();
}

}  // namespace scalecalc::claims
