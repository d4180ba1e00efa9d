#include "claims/numeric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "claims/judge.hpp"
#include "claims/lowering.hpp"
#include "claims/worst.hpp"

namespace scalecalc::claims {
namespace {

using Verdict = MethodResult::Verdict;
using Exprs = std::map<std::string, Expr>;

/// How well equal sides must be known: moments of networks are given to 1e-9 each.
constexpr double least_of_integrals = 1e-9, least_of_moments = 1e-8;

std::string number_text(const Estimate& estimate) {
  if (estimate.error == 0) return fmt::format("{:.12g}", estimate.value);
  return fmt::format("{:.12g} +- {:.2g}", estimate.value, estimate.error);
}

/// Points are many where they are cheap, few where each takes samples or a network.
SampleCounts counts_for(ClaimMethod method, std::size_t symbols, std::size_t grid, bool dear) {
  const int k = static_cast<int>(symbols),
            shared = static_cast<int>(std::min<std::size_t>(grid, 8));
  if (symbols == 0) return {};
  if (method != ClaimMethod::quadrature || dear)
    return {2 + std::max(1, 2 * k / shared), 0, 0, 0, 64, false};
  return {std::max(2 + k, (6 + 4 * k) / shared),
          std::max(1, (2 + 2 * k) / shared),
          std::max(1, 5 / shared),
          k > 1 ? std::max(1, 2 * k / shared) : 0,
          1001,
          false};
}

/// One point, decided.
struct Found {
  bool ordinary = true;
  Judgement judged;
  Estimate left, right;
  double room = 0;  ///< how much is left of a bound, as a share of the sides
  Exprs values;
};

/// What decides more than another: what fails, then what is open, then what is nearest to failing.
bool is_worse(const Found& a, const Found& b, bool of_equality) {
  const auto rank = [](const Found& found) {
    return found.judged.verdict == Verdict::fails  ? 2
           : found.judged.verdict == Verdict::open ? 1
                                                   : 0;
  };
  if (rank(a) != rank(b)) return rank(a) > rank(b);
  // Of two failures the one that is easier to look at.
  if (of_equality && rank(a) == 2 && a.ordinary != b.ordinary) return a.ordinary;
  return a.room < b.room;
}

class Run {
 public:
  Run(const Claim& claim, const CheckOptions& options, Networks& networks, ClaimMethod method,
      const std::vector<SymbolDomain>& free, const std::vector<Values>& witnesses)
      : claim_(claim),
        options_(options),
        networks_(networks),
        method_(method),
        free_(free),
        witnesses_(witnesses),
        of_moments_(uses(claim, has_moments)) {}

  MethodResult operator()() {
    const std::vector<Exprs> grid = grid_of(claim_);
    for (std::size_t g = 0; g < grid.size(); ++g) {
      if (free_.empty()) {
        keep(at(grid[g]));
        continue;
      }
      points_here_ = 0;
      const SampleCounts counts = counts_for(method_, free_.size(), grid.size(), of_moments_);
      for (const Sample& sample : sample_points(free_, counts, g))
        if (!is_refuted()) try_at(grid[g], sample);
      for (const Values& witness : witnesses_)
        if (!is_refuted() && of_free_symbols(witness)) try_at(grid[g], {witness, false});
      if (is_refuted()) return result();
      // A handful in each combination of `for`, a third of the points of ordinary size or more.
      if (points_here_ < std::max(2, counts.ordinary / 3)) throw NotApplicable{too_few()};
      if (is_bound() && method_ == ClaimMethod::quadrature) search(grid[g], of_moments_ ? 8 : 24);
    }
    return result();
  }

 private:
  bool is_bound() const {
    return claim_.assertion.within || (claim_.assertion.relation != Relation::equal &&
                                       claim_.assertion.relation != Relation::about);
  }
  /// One point of ordinary size says enough of an equality; of a bound the worst is looked for.
  bool is_refuted() const {
    return !is_bound() && worst_ && worst_->ordinary && worst_->judged.verdict == Verdict::fails;
  }
  bool of_free_symbols(const Values& witness) const {
    return std::all_of(free_.begin(), free_.end(),
                       [&](const SymbolDomain& symbol) { return witness.contains(symbol.first); });
  }

  Found at(const Exprs& values, bool ordinary = true) const {
    Engine engine(method_, options_, networks_);
    if (!free_.empty()) engine.distrust_few_samples();
    if (!ordinary) engine.go_far_out();
    const Sides sides = sides_at(claim_, values, engine);
    Found found;
    found.values = values;
    placed(claim_.place, 1, [&] {
      found.left = engine.certain(sides.left);
      found.right = engine.certain(sides.right);
      const double magnitude = engine.magnitude(sides.left) + engine.magnitude(sides.right);
      found.judged = judge_numbers(claim_.assertion, found.left, found.right, magnitude, method_,
                                   {of_moments_ ? least_of_moments : least_of_integrals, ordinary});
    });
    found.room = room_of_numbers(claim_.assertion, found.left.value, found.right.value);
    return found;
  }

  /// Far out, or where symbols coincide, there may be no value, or none that is precise enough.
  std::optional<Found> seen_at(const Exprs& base, const Sample& sample) {
    Exprs values = base;
    for (const auto& [name, value] : sample.at) values.insert_or_assign(name, Expr(value));
    try {
      Found found = at(values, sample.ordinary);
      found.ordinary = sample.ordinary;
      if (found.judged.verdict != Verdict::open || method_ != ClaimMethod::quadrature) return found;
      skipped_ = found.judged.how;
    } catch (const NotApplicable& none) {
      skipped_ = none.reason;
    } catch (const Error& error) {
      if (sample.ordinary || error.kind() == ErrorKind::fault) throw;
    }
    return std::nullopt;
  }

  void try_at(const Exprs& base, const Sample& sample) {
    const std::optional<Found> found = seen_at(base, sample);
    if (!found) return;
    ++points_here_;
    ++points_;
    keep(*found);
    sampled_.emplace_back(found->room, sample.at);
  }

  void keep(const Found& found) {
    if (!worst_ || is_worse(found, *worst_, !is_bound())) worst_ = found;
  }

  /// A bound, from where it has least room.
  void search(const Exprs& base, int evaluations) {
    constexpr std::size_t starts = 2;
    std::stable_sort(sampled_.begin(), sampled_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const SearchLimits limits{evaluations * static_cast<int>(free_.size()), 1e-3};
    const Room room = [&](const Values& at) -> std::optional<double> {
      const std::optional<Found> found = seen_at(base, {at, false});
      if (!found) return std::nullopt;
      keep(*found);
      return found->room;
    };
    for (std::size_t k = 0; k < std::min(starts, sampled_.size()); ++k)
      least_room(free_, sampled_[k].second, room, limits);
    sampled_.clear();
  }

  std::string too_few() const {
    return fmt::format("both sides have a value at {} point{} only{}", points_here_,
                       points_here_ == 1 ? "" : "s", skipped_.empty() ? "" : ": " + skipped_);
  }

  MethodResult result() const {
    MethodResult result;
    result.method = method_;
    result.verdict = worst_->judged.verdict;
    result.how = worst_->judged.how;
    if (points_ > 0 && result.verdict == Verdict::holds)
      result.how = fmt::format("checked at {} points: at most {}", points_, result.how);
    result.points = points_;
    result.left = number_text(worst_->left);
    result.right = number_text(worst_->right);
    result.left_value = worst_->left.value;
    result.right_value = worst_->right.value;
    result.difference = worst_->left.value - worst_->right.value;
    result.error = worst_->left.error + worst_->right.error;
    result.point = point_text(worst_->values);
    return result;
  }

  const Claim& claim_;
  const CheckOptions& options_;
  Networks& networks_;
  ClaimMethod method_;
  const std::vector<SymbolDomain>& free_;
  const std::vector<Values>& witnesses_;
  const bool of_moments_;
  std::vector<std::pair<double, Values>> sampled_;
  std::optional<Found> worst_;
  std::string skipped_;
  int points_ = 0, points_here_ = 0;
};

}  // namespace

MethodResult NumericTrial::run(ClaimMethod method, const std::vector<Values>& witnesses) {
  for (;;) {
    try {
      return Run(claim_, options_, networks_, method, free_, witnesses)();
    } catch (const Unbound& unbound) {
      free_.emplace_back(unbound.name, unbound.domain);
    }
  }
}

Finding NumericTrial::compare_published(ClaimMethod method) {
  const auto compared = [&] {
    Finding finding{claim_.finding, claim_.published_text, claim_.truth_text, {}, {}, {}};
    for (const Exprs& base : grid_of(claim_))
      for (const Sample& sample :
           sample_points(free_, {free_.empty() ? 1 : 3, 0, 0, 0, 64, false}, 0)) {
        Exprs values = base;
        for (const auto& [name, value] : sample.at) values.insert_or_assign(name, Expr(value));
        Engine engine(method, options_, networks_);
        Scope scope = open_scope(claim_.let, values, engine);
        Lowering lower(claim_.place, scope, engine);
        const double published = engine.value(lower(claim_.published));
        const double truth = engine.value(lower(claim_.truth));
        const double off = truth != 0 ? published / truth - 1 : published;
        if (finding.off && std::abs(*finding.off) >= std::abs(off)) continue;
        finding.published_value = published;
        finding.true_value = truth;
        finding.off = off;
      }
    return finding;
  };
  for (;;) {
    try {
      return compared();
    } catch (const Unbound& unbound) {
      free_.emplace_back(unbound.name, unbound.domain);
    }
  }
}

}  // namespace scalecalc::claims
