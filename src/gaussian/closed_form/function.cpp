#include "gaussian/closed_form/function.hpp"

#include <map>
#include <shared_mutex>
#include <unordered_map>

#include "base/deadline.hpp"
#include "symbolic/node.hpp"

namespace scalecalc {
namespace gaussian {
namespace {

ClosedForm find(const Activation& activation, Moment moment, InputMean mean,
                Correlation correlation) {
  if (auto reason = infinite_because(activation, moment)) return {std::nullopt, *reason};
  const Piecewise function = is_slope(moment) ? slopes_of(activation) : values_of(activation);
  switch (moment) {
    case Moment::mean:
    case Moment::slope_mean: return formula_1d(function, 1, mean);
    case Moment::second:
    case Moment::slope_second: return formula_1d(function, 2, mean);
    case Moment::fourth: return formula_1d(function, 4, mean);
    case Moment::cross:
    case Moment::slope_cross: break;
  }
  return formula_pair(function, mean, correlation);
}

struct Key {
  Expr expression;
  Moment moment;
  friend bool operator==(const Key&, const Key&) = default;
};
struct Hash {
  std::size_t operator()(const Key& key) const {
    return key.expression.node().hash * 31 + static_cast<std::size_t>(key.moment);
  }
};

/// Formulas kept; past this many activations all are forgotten.
constexpr std::size_t most_kept = 4096;

struct Shared {
  std::shared_mutex mutex;
  std::unordered_map<Key, std::shared_ptr<const ClosedFormFunction::Impl>, Hash> functions;
};

/// The formula with its code. A search under a deadline has three quarters of the time that is
/// left; what it has not found then counts as having no formula, and quadrature has the rest.
template <class Search>
ClosedFormFunction::Impl::Entry entry_in_time(Search search) {
  using base::Deadline;
  std::optional<Deadline> share;
  if (const Deadline* outer = Deadline::current()) {
    const auto now = Deadline::Clock::now();
    share.emplace(now + (outer->at() - now) * 3 / 4, outer->reason());
  }
  ClosedFormFunction::Impl::Entry entry;
  try {
    entry.form = search();
    if (entry.form.formula) entry.program.emplace(*entry.form.formula);
  } catch (const base::DeadlinePassed& passed) {
    share.reset();
    base::check_deadline();  // a search that had no time at all may be begun again
    entry = {{std::nullopt, std::string("a formula was ") + passed.what()}, std::nullopt};
  }
  return entry;
}

Piecewise piecewise(const Activation& activation, const std::vector<Expr>& pieces) {
  Piecewise function{pieces, {}};
  for (const Break& place : activation.breaks()) function.breaks.push_back(place.where);
  return function;
}

}  // namespace

Piecewise values_of(const Activation& activation) {
  return piecewise(activation, activation.pieces());
}
Piecewise slopes_of(const Activation& activation) {
  return piecewise(activation, activation.slope_pieces());
}

bool is_slope(Moment moment) {
  return moment == Moment::slope_mean || moment == Moment::slope_second ||
         moment == Moment::slope_cross;
}
Moment factor_of(Moment pair_moment) {
  return pair_moment == Moment::cross ? Moment::mean : Moment::slope_mean;
}
Moment square_of(Moment pair_moment) {
  return pair_moment == Moment::cross ? Moment::second : Moment::slope_second;
}

std::optional<std::string> infinite_because(const Activation& activation, Moment moment) {
  if (moment != Moment::slope_second) return std::nullopt;
  for (const Break& place : activation.breaks()) {
    if (place.jump) return "infinite: phi jumps at x = " + to_string(place.where);
  }
  return std::nullopt;
}

std::shared_ptr<const ClosedFormFunction::Impl> shared_function(const Activation& activation,
                                                                Moment moment) {
  static Shared shared;
  const Key key{activation.expression(), moment};
  {
    const std::shared_lock lock(shared.mutex);
    const auto found = shared.functions.find(key);
    if (found != shared.functions.end()) return found->second;
  }
  const std::unique_lock lock(shared.mutex);
  if (shared.functions.size() >= most_kept) shared.functions.clear();
  std::shared_ptr<const ClosedFormFunction::Impl>& kept = shared.functions[key];
  if (!kept) kept = std::make_shared<const ClosedFormFunction::Impl>(activation, moment);
  return kept;
}

/// On a break, u and v fall on the same side with probability 1/2 + asin(c)/pi.
Expr point_mass(Moment moment, const Expr& left, const Expr& right, const Expr& correlation) {
  const Expr half = Rational(1, 2);
  const auto average = [&](int power) {
    return left == right ? pow(left, power) : half * (pow(left, power) + pow(right, power));
  };
  switch (moment) {
    case Moment::mean:
    case Moment::slope_mean: return average(1);
    case Moment::second:
    case Moment::slope_second: return average(2);
    case Moment::fourth: return average(4);
    case Moment::cross:
    case Moment::slope_cross: break;
  }
  const Expr same = half + Expr::function("asin", {correlation}) / Expr::pi();
  return left == right ? pow(left, 2) : same * average(2) + (1 - same) * left * right;
}

}  // namespace gaussian

const ClosedFormFunction::Impl::Entry& ClosedFormFunction::Impl::entry(
    InputMean mean, gaussian::Correlation correlation) const {
  const std::size_t place = (mean == InputMean::symbol ? 1 : 0) +
                            (correlation == gaussian::Correlation::minus_one ? 2 : 0);
  Slot& slot = slots_[place];
  std::call_once(slot.once, [&] {
    slot.entry = gaussian::entry_in_time(
        [&] { return gaussian::find(activation, moment, mean, correlation); });
  });
  return slot.entry;
}

}  // namespace scalecalc
