#include "transfer/step_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace scalecalc {
namespace {

/// Sizes are piecewise linear in that of theta: steps between two of its kinks, of which a rule
/// that someone writes has few.
constexpr int most_pieces = 32;

/// Between two sizes of which a slope is taken, far below the distance of any two kinks.
const Rational nearby(1, 1 << 20);

UpdateSize update_at(const Step& step, const Rational& theta) {
  const Start& start = step.start;
  return update_size(*step.rule, {start.fan_in, start.fan_out, step.gradient, theta,
                                  step.global_norm, start.columns});
}

/// The power of the update in theta, at larger thetas.
Rational degree_at(const Step& step, const Rational& theta) {
  return (update_at(step, theta + nearby).entry - update_at(step, theta).entry) / nearby;
}

/// Of what the step changes in what the tensor puts out.
std::vector<Bound> change_bounds(const Step& step, const UpdateSize& update) {
  const Start& start = step.start;
  const Rational let_through = update.singular + (start.fan_in - start.fan_out) * half;
  const auto change = [&](const char* name, const char* product, const Rational& exponent,
                          const Rational& input) {
    const Rational size = smaller(update.entry + exponent * start.fan_in, let_through) + input;
    return Bound{name,
                 fmt::format("multiplier {} + {} {}", start.multiplier.to_string(), product,
                             size.to_string()),
                 step.limit.value, step.limit.value - start.multiplier - size};
  };
  std::vector<Bound> bounds = {change("own_change", "|U x|", step.alignment.alpha, 0)};
  if (!start.fan_in.is_zero())
    bounds.push_back(change("second_change", "|U dx|", step.alignment.u, step.features));
  return bounds;
}

Bound tightest(const std::vector<Bound>& bounds) {
  return *std::ranges::min_element(bounds,
                                   [](const Bound& a, const Bound& b) { return a.lr < b.lr; });
}

/// The lr that the changes allow where theta has that size.
Rational allowed(const Step& step, const Rational& theta) {
  return tightest(change_bounds(step, update_at(step, theta))).lr;
}

void settle(Step& step, const Rational& theta, const Rational& lr) {
  step.theta = theta;
  step.update = update_at(step, theta);
  step.lr = lr;
}

Error unsettled(const Step& step) {
  return {ErrorKind::input,
          "the size of a parameter under the rule " + to_string(*step.rule) + " does not settle",
          "--optimizer", "write a rule of fewer cases"};
}

/// The least size that steps of this lr do not lead out of; where they multiply it at every step,
/// its init.
Rational settled_theta(const Step& step, const Rational& lr) {
  Rational theta = step.start.std;
  for (int piece = 0; piece < most_pieces; ++piece) {
    const Rational change = lr + update_at(step, theta).entry;
    if (!(theta < change)) return theta;
    const Rational degree = degree_at(step, theta);
    if (!(degree < Rational(1))) return step.start.std;
    theta = theta + (change - theta) / (Rational(1) - degree);
  }
  throw unsettled(step);
}

}  // namespace

void solve_step(Step& step) {
  if (step.start.lr) return settle(step, settled_theta(step, *step.start.lr), *step.start.lr);
  // The largest lr, over sizes of theta not below its init, that neither changes more than is
  // stable nor leads out of that size: min(allowed(theta), theta - |U|). The first falls in theta;
  // the second rises, until the rule is of degree 1 in theta and steps multiply it.
  Rational theta = step.start.std;
  for (int piece = 0; piece < most_pieces; ++piece) {
    const Rational may = allowed(step, theta), stays = theta - update_at(step, theta).entry;
    const bool is_start = theta == step.start.std;
    if (may == stays || (is_start && may < stays)) {
      const Rational least = settled_theta(step, may);
      return settle(step, smaller(least, theta), may);
    }
    // Past a kink it goes back by the slopes on that side.
    const Rational side = may < stays ? theta - nearby : theta;
    const Rational degree = degree_at(step, side);
    if (stays < may && !(degree < Rational(1))) return settle(step, theta, stays);
    const Rational falls = (allowed(step, side + nearby) - allowed(step, side)) / nearby;
    theta = larger(step.start.std, theta + (may - stays) / (Rational(1) - degree - falls));
  }
  throw unsettled(step);
}

Bound binding_bound(const Step& step) {
  std::vector<Bound> bounds = change_bounds(step, step.update);
  // A step relative to theta multiplies it again each time.
  if (!(degree_at(step, step.theta) < Rational(1)))
    bounds.push_back({"relative_step", "|U| " + step.update.entry.to_string(), step.theta,
                      step.theta - step.update.entry});
  return tightest(bounds);
}

}  // namespace scalecalc
