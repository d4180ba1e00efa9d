#include "scalecalc/gains.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/deadline.hpp"
#include "scaling/gains/expectation.hpp"
#include "scaling/gains/root.hpp"

namespace scalecalc {
namespace {

using namespace gains_room;

class Solver {
 public:
  Solver(const Activation& activation, const GaussianInput& input)
      : map_(activation), input_{input.mean, input.variance, {}} {}

  Gains run() {
    in_time({"gain_second"}, &Solver::forward);
    in_time({"gain_variance"}, &Solver::centred);
    in_time({"gain_backward", "gain_compromise"}, &Solver::backward);
    in_time({"q_slope"}, &Solver::slope);
    in_time({"gain_activation"}, &Solver::scale);
    return std::move(result_);
  }

 private:
  /// A deadline that passes in one part leaves the others what they have found.
  void in_time(std::initializer_list<const char*> names, void (Solver::*part)()) {
    try {
      (this->*part)();
    } catch (const base::DeadlinePassed& passed) {
      for (const char* name : names) result_.unavailable.try_emplace(name, passed.what());
      result_.out_of_time = true;
    }
  }

  void forward() {
    second_ = expectation(activation_, Moment::second, input_);
    if (!(second_.value > 0)) return missing("gain_second", "E phi^2 is 0");
    if (std::isinf(second_.value)) {
      return missing("gain_second", "E phi^2 is beyond the range of double");
    }
    result_.second = inverse_root(second_);
  }

  void centred() {
    const Estimate variance = variance_of(activation_, input_);
    if (variance.value > 0 && std::isfinite(variance.value)) {
      result_.variance = inverse_root(variance);
    } else {
      missing("gain_variance", variance.value > 0 ? "the variance is beyond the range of double"
                                                  : "phi(u) has no variance");
    }
  }

  void backward() {
    const auto reason = infinite_slope(activation_);
    if (reason) {
      missing("gain_backward", *reason);
      return missing("gain_compromise", *reason);
    }
    const Estimate slope = expectation(activation_, Moment::slope_second, input_);
    if (!(slope.value > 0) || std::isinf(slope.value)) {
      const std::string what = slope.value > 0 ? "beyond the range of double" : "0";
      missing("gain_backward", "E phi'^2 is " + what);
      return missing("gain_compromise", "E phi'^2 is " + what);
    }
    result_.backward = inverse_root(slope);
    if (!result_.second) return missing("gain_compromise", "there is no forward gain");
    const double value = std::sqrt(result_.second->value * result_.backward->value);
    const double relative = result_.second->error / result_.second->value +
                            result_.backward->error / result_.backward->value;
    result_.compromise = Estimate{value, value * relative / 2, result_.backward->method};
  }

  /// d ln E phi^2/d ln q at a fixed mean: E[((u - mean)^2/q - 1) phi^2]/(2 E phi^2).
  std::optional<Estimate> slope_at(const GaussianInput& input) const {
    if (input.mean == 0) return map_.log_slope(input.variance);
    const Estimate second = expectation(activation_, Moment::second, input);
    const Expr centred = Expr::symbol("x", Assumption::real) - Rational::shortest(input.mean);
    const Estimate tilted = expectation(times(activation_, centred), Moment::second, input);
    const double ratio = tilted.value / (input.variance * second.value);
    const double relative = tilted.error / tilted.value + second.error / second.value + 1e-15;
    return Estimate{(ratio - 1) / 2, ratio * relative / 2, second.method};
  }

  void slope() {
    if (!result_.second) return missing("q_slope", result_.unavailable.at("gain_second"));
    if (input_.variance == 0) return missing("q_slope", "the input has no variance");
    result_.q_slope = slope_at(input_);
    result_.stable = std::fabs(result_.q_slope->value) <= 1 + result_.q_slope->error;
    if (!result_.stable) {
      result_.note =
          fmt::format("q_slope = {:.6g}: past 1 a deep plain stack drifts away whatever the gain",
                      result_.q_slope->value);
    }
  }

  /// ln E phi(s u)^2 at ln s^2; NaN where that does not exist.
  double log_second(double log_square) const {
    try {
      return std::log(expectation(activation_, Moment::second, scaled(input_, log_square)).value);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      return std::numeric_limits<double>::quiet_NaN();
    }
  }

  void scale() {
    if (!result_.second) return missing("gain_activation", result_.unavailable.at("gain_second"));
    if (input_.variance == 0) return missing("gain_activation", "the input has no variance");
    const std::vector<double> scanned = scanned_second(activation_, input_);
    std::vector<double> logarithms;
    for (const double value : scanned) logarithms.push_back(std::log(value));
    const std::vector<Bracket> brackets = sign_changes(logarithms, scan());
    if (brackets.empty()) return out_of_reach(scanned);
    const Function f = [this](double t) { return log_second(t); };
    const Bracket& nearest =
        *std::min_element(brackets.begin(), brackets.end(), [](const auto& a, const auto& b) {
          return std::fabs(a.low + a.high) < std::fabs(b.low + b.high);
        });
    const Root root = bracketed_root(f, nearest);
    const auto slope = slope_at(scaled(input_, root.value));
    const double s = std::exp(root.value / 2);
    const Estimate at_root = expectation(activation_, Moment::second, scaled(input_, root.value));
    const double off = (std::fabs(root.residual) + at_root.error + 1e-16) /
                       (2 * std::max(std::fabs(slope->value), 1e-300));
    result_.activation = Estimate{s, s * (off + 3e-16), at_root.method};
    result_.q_slope_activation = slope->value;
  }

  /// No scale of the input gives E phi^2 = 1: say what can be had.
  void out_of_reach(const std::vector<double>& scanned) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double value : scanned) {
      if (!(value > 0) || std::isinf(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    missing("gain_activation",
            fmt::format("no scale of the input gives E phi^2 = 1: with its variance from 1e-12 to "
                        "1e8 times what it is, E phi^2 goes from {:.4g} to {:.4g}",
                        low, high));
    if (!result_.note.empty()) result_.note += "; ";
    result_.note += fmt::format(
        "weights cannot bring E phi^2 to 1 ({}): use the tuned activation {:.8g}*phi(x)",
        high < 1 ? "phi is bounded" : "phi is bounded below", result_.second->value);
  }

  void missing(const std::string& name, const std::string& reason) {
    result_.unavailable[name] = reason;
  }

  SecondMap map_;
  const Activation& activation_ = map_.activation();
  GaussianInput input_;
  Estimate second_;
  Gains result_;
};

}  // namespace

Gains gains(const Activation& activation, const GaussianInput& input) {
  return Solver(activation, input).run();
}

}  // namespace scalecalc
