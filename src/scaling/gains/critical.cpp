#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scalecalc/gains.hpp"
#include "scaling/gains/expectation.hpp"
#include "scaling/gains/root.hpp"

namespace scalecalc {
namespace {

using namespace gains_room;

/// Below this a function counts as identically 0: some hundred roundings.
constexpr double equal_enough = 1e-12;
constexpr char any_q[] = "every q is critical: q* is the one the stack starts with (here 1)";

class CriticalSolver {
 public:
  explicit CriticalSolver(const Activation& activation) : map_(activation) {
    if (const auto reason = infinite_slope(activation)) {
      throw Error(ErrorKind::unsolvable, "chi = 1 has no solution", *reason,
                  "gradients explode at any weight variance; use a continuous activation");
    }
  }

  /// chi = 1 gives sw2 = 1/E phi'^2, so that q = E phi^2/E phi'^2 + sb2.
  Critical at_bias(double bias_variance) {
    sb2_ = bias_variance;
    const Function excess = [this](double t) {
      const double q = std::exp(t);
      return std::log(map_.second(q) / map_.slope_second(q) + sb2_) - t;
    };
    if (is_zero(excess)) return describe(1, any_q);
    std::vector<Critical> found;
    if (const auto zero = at_zero()) found.push_back(*zero);
    for (const Bracket& bracket : sign_changes(excess, points())) {
      found.push_back(describe(std::exp(bracketed_root(excess, bracket).value), ""));
    }
    if (found.empty()) throw nothing();
    return best(found);
  }

  /// chi = 1 and d q'/d q = 1: E phi'^2 = dE phi^2/dq, and sb2 = q - E phi^2/E phi'^2 >= 0.
  Critical pair() {
    const Function excess = [this](double t) {
      const double q = std::exp(t);
      return map_.slope_second(q) - map_.second(q) * map_.log_slope(q).value / q;
    };
    if (is_zero(excess)) return describe(1, any_q);
    for (const Bracket& bracket : sign_changes(excess, points())) {
      const double q = std::exp(bracketed_root(excess, bracket).value);
      sb2_ = q - map_.second(q) / map_.slope_second(q);
      if (sb2_ >= 0) return describe(q, "");
    }
    sb2_ = 0;
    if (const auto zero = at_zero()) return *zero;
    throw Error(ErrorKind::unsolvable,
                "no weight and bias variance makes both chi and the slope of the q-map 1",
                map_.activation().name(), "give --bias-variance to make chi alone 1");
  }

 private:
  static std::vector<double> points() { return scan(); }
  static bool is_zero(const Function& f) {
    const std::vector<double> at = points();
    return std::all_of(at.begin(), at.end(),
                       [&](double t) { return std::fabs(f(t)) < equal_enough; });
  }

  /// q* = 0 without a bias: sw2 = 1/phi'(0)^2.
  std::optional<Critical> at_zero() const {
    const double slope = map_.slope_second(0);
    if (sb2_ != 0 || map_.second(0) != 0 || !(slope > 0)) return std::nullopt;
    Critical critical;
    critical.weight_variance = {1 / slope, 0};
    critical.q_slope = 1;
    // The next order says which way q moves near 0.
    const double q = 1e-6;
    const double growth = map_.second(q) / (slope * q) - 1;
    critical.note = growth < 0   ? "q falls to 0 as a power of depth, not exponentially"
                    : growth > 0 ? "q* = 0 is unstable: q grows away from it"
                                 : "";
    return critical;
  }

  Critical describe(double q, const std::string& note) const {
    Critical critical;
    const double sw2 = 1 / map_.slope_second(q);
    critical.bias_variance = sb2_;
    critical.q_star = q;
    critical.weight_variance = {sw2, sw2 * map_.second(q) + sb2_ - q};
    critical.q_slope = sw2 * map_.second(q) * map_.log_slope(q).value / q;
    critical.note = note;
    return critical;
  }

  /// A stable q* before an unstable one.
  static Critical best(const std::vector<Critical>& found) {
    const auto stable = std::find_if(found.begin(), found.end(), [](const Critical& critical) {
      return std::fabs(critical.q_slope) < 1 && critical.q_star > 0;
    });
    Critical critical = stable != found.end() ? *stable : found.front();
    if (stable == found.end() && critical.note.empty()) {
      critical.note = "q* is unstable: a stack drifts away from it";
    }
    if (found.size() > 1) {
      critical.note += critical.note.empty() ? "" : "; ";
      critical.note += "others:";
      for (const Critical& other : found) {
        if (other.q_star == critical.q_star) continue;
        critical.note += fmt::format(" weight variance {:.8g} at q* = {:.8g}",
                                     other.weight_variance.value, other.q_star);
      }
    }
    return critical;
  }

  Error nothing() const {
    const double second = map_.second(1), slope = map_.slope_second(1);
    return Error(
        ErrorKind::unsolvable, "no weight variance gives chi = 1 at a fixed point of q",
        fmt::format("{}, bias variance {}", map_.activation().name(), sb2_),
        fmt::format("at q = 1, chi = 1 needs weight variance {:.8g} and q = 1 needs {:.8g}",
                    1 / slope, (1 - sb2_) / second));
  }

  SecondMap map_;
  double sb2_ = 0;
};

}  // namespace

Critical solve_critical(const Activation& activation, double bias_variance) {
  if (!(bias_variance >= 0) || !std::isfinite(bias_variance)) {
    throw Error(ErrorKind::input, "the bias variance must be finite and not negative",
                fmt::format("got {}", bias_variance), "for example 0.05");
  }
  return CriticalSolver(activation).at_bias(bias_variance);
}

Critical solve_critical_pair(const Activation& activation) {
  return CriticalSolver(activation).pair();
}

}  // namespace scalecalc
