#include <fmt/format.h>

#include "scalecalc/gains.hpp"
#include "scaling/gains/digits.hpp"
#include "scaling/gains/expectation.hpp"
#include "scaling/gains/root.hpp"

namespace scalecalc {
namespace {

using namespace gains_room;

/// Digits beyond those asked for where nothing cancels.
constexpr int margin = 8;

using Digits = std::map<std::string, std::string>;

/// precise_root, where the function changes sign within a unit of the last digit.
Rational sure_root(const Precise& f, double start, int digits, const Activation& activation) {
  const Rational root = precise_root(f, start, digits);
  const int working = digits + margin;
  const Rational unit = tenth_to(digits) * (root.is_zero() ? Rational(1) : root);
  const Rational below = f(root - unit, working), above = f(root + unit, working);
  if (below.sign() * above.sign() <= 0) return root;
  throw Error(ErrorKind::unsolvable,
              fmt::format("{} digits of a root near {} are out of reach", digits, start),
              activation.name() + ": its equation does not change sign there",
              "ask for at most 17 digits");
}

/// The maps of second moments and correlations at N(0, q), in many digits.
class PreciseMap {
 public:
  PreciseMap(const Activation& activation, int digits) : activation_(activation), digits_(digits) {}

  Rational second(const Rational& q, int digits) const {
    return precise_moment(activation_, Moment::second, 0, q, digits);
  }
  Rational slope_second(const Rational& q, int digits) const {
    return precise_moment(activation_, Moment::slope_second, 0, q, digits);
  }
  Rational pair(Moment moment, const Rational& q, const Rational& c, int digits) const {
    return precise_moment(activation_, moment, 0, q, digits, Expr(c));
  }
  Rational log_slope(const Rational& q, const Rational& second, int digits) const {
    return precise_log_slope(activation_, 0, q, second, digits);
  }

  const Activation& activation() const { return activation_; }
  int digits() const { return digits_; }
  int working() const { return digits_ + margin; }
  std::string text(const Expr& value) const { return digits_of(value, digits_); }
  Rational root(const Precise& f, double start) const {
    return sure_root(f, start, digits_, activation_);
  }

 private:
  const Activation& activation_;
  int digits_;
};

/// -1/ln|slope| where the slope has fallen below 1.
void add_depth_scale(Digits& found, const char* name, const PreciseMap& map, const Rational& slope,
                     double known) {
  if (!std::isfinite(known)) return;
  found[name] = slope.is_zero() ? "0" : map.text(-1 / log(Expr(slope * slope.sign())));
}

class FixedPointDigits {
 public:
  FixedPointDigits(const PreciseMap& map, const FixedPoint& point, const Rational& weight_variance,
                   const Rational& bias_variance)
      : map_(map), point_(point), sw2_(weight_variance), sb2_(bias_variance) {}

  Digits run() {
    const int working = map_.working();
    const Rational q = q_star(), second = map_.second(q, working);
    add("q_star", q);
    add("activation_second", second);
    const bool jumps = map_.activation().has_jump();
    const Rational chi = jumps ? Rational(0) : sw2_ * map_.slope_second(q, working);
    if (!jumps) add("chi", chi);
    const Rational slope =
        q.is_zero() ? chi : map_.log_slope(q, second, working) * sw2_ * second / q;
    if (!q.is_zero() || !jumps) {
      add("q_slope", slope);
      add_depth_scale(found_, "q_depth_scale", map_, slope, point_.q_depth_scale);
    }
    if (q.is_zero() || point_.c_star->value == 1) {
      if (point_.c_star) add("c_star", 1);
      if (!jumps) add_depth_scale(found_, "c_depth_scale", map_, chi, point_.c_depth_scale);
    } else {
      correlation(q, jumps);
    }
    return std::move(found_);
  }

 private:
  void add(const char* name, const Rational& value) { found_[name] = map_.text(Expr(value)); }

  Rational q_star() const {
    if (point_.q_star.value == 0) return 0;
    const Precise excess = [this](const Rational& q, int working) {
      return (sw2_ * map_.second(q, working) + sb2_) / q - 1;
    };
    return map_.root(excess, point_.q_star.value);
  }

  void correlation(const Rational& q, bool jumps) {
    const Precise excess = [&](const Rational& c, int working) {
      return (sw2_ * map_.pair(Moment::cross, q, c, working) + sb2_) / q - c;
    };
    const bool apart = point_.c_star->value == 0;
    const Rational c = apart ? Rational(0) : map_.root(excess, point_.c_star->value);
    add("c_star", c);
    if (jumps) return;
    const Rational slope =
        sw2_ * (apart ? slope_apart(q) : map_.pair(Moment::slope_cross, q, c, map_.working()));
    add_depth_scale(found_, "c_depth_scale", map_, slope, point_.c_depth_scale);
  }

  /// E[phi'(u) phi'(v)] of independent u, v.
  Rational slope_apart(const Rational& q) const {
    const Rational mean =
        precise_moment(map_.activation(), Moment::slope_mean, 0, q, map_.working());
    return mean * mean;
  }

  const PreciseMap& map_;
  const FixedPoint& point_;
  Rational sw2_, sb2_;
  Digits found_;
};

}  // namespace

Digits tuned_digits(const Activation& activation, const Tuned& solution, const Rational& variance,
                    int digits) {
  const PreciseMap map(activation, digits);
  const int working = digits + guard;
  const Rational second = map.second(variance, working);
  const bool odd = solution.shift.value == 0;
  const Rational mean =
      odd ? Rational(0) : precise_moment(activation, Moment::mean, 0, variance, working);
  const Rational centred = second - mean * mean;
  Digits found = {{"scale", inverse_root_digits(second, digits)},
                  {"shift", map.text(Expr(mean))},
                  {"centred_scale", inverse_root_digits(centred, digits)}};
  if (activation.has_jump()) return found;
  const Rational slope = map.slope_second(variance, working);
  found["slope_before"] = map.text(Expr(slope));
  found["slope_after"] = map.text(Expr(slope / second));
  found["centred_slope_after"] = map.text(Expr(slope / centred));
  return found;
}

Digits critical_digits(const Activation& activation, const Critical& solution,
                       const std::optional<Rational>& bias_variance, int digits) {
  const PreciseMap map(activation, digits);
  const Precise at_bias = [&](const Rational& q, int working) {
    return (map.second(q, working) / map.slope_second(q, working) + *bias_variance) / q - 1;
  };
  const Precise pair = [&](const Rational& q, int working) {
    const Rational second = map.second(q, working);
    return second * map.log_slope(q, second, working) / (q * map.slope_second(q, working)) - 1;
  };
  Rational q, bias = bias_variance.value_or(0), q_slope = 1;
  if (solution.q_star != 0) q = map.root(bias_variance ? at_bias : pair, solution.q_star);
  const int working = digits + guard;
  const Rational slope = map.slope_second(q, working);
  if (!q.is_zero()) {
    const Rational second = map.second(q, working);
    if (!bias_variance) bias = q - second / slope;
    q_slope = second * map.log_slope(q, second, working) / (q * slope);
  }
  return {{"weight_variance", map.text(Expr(Rational(1) / slope))},
          {"bias_variance", map.text(Expr(bias))},
          {"q_star", map.text(Expr(q))},
          {"q_slope", map.text(Expr(q_slope))}};
}

Digits fixed_point_digits(const Activation& activation, const FixedPoint& point,
                          const Rational& weight_variance, const Rational& bias_variance,
                          int digits) {
  const PreciseMap map(activation, digits);
  return FixedPointDigits(map, point, weight_variance, bias_variance).run();
}

}  // namespace scalecalc
