#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scaling/gains/fixed_points.hpp"
#include "scaling/gains/root.hpp"

namespace scalecalc {
namespace {

using namespace gains_room;

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Below this a slope counts as 1, and a map as the identity: some hundred roundings.
constexpr double equal_enough = 1e-12;

/// -1/ln|slope|: layers until a distance has fallen by e; infinite where it does not fall.
double depth_scale(double slope) {
  const double size = std::fabs(slope);
  return size < 1 - equal_enough ? -1 / std::log(size) : infinity;
}

void check(double weight_variance, double bias_variance) {
  if (!(weight_variance > 0) || !std::isfinite(weight_variance)) {
    throw Error(ErrorKind::input, "the weight variance must be positive and finite",
                fmt::format("got {}", weight_variance), "for example 2");
  }
  if (!(bias_variance >= 0) || !std::isfinite(bias_variance)) {
    throw Error(ErrorKind::input, "the bias variance must be finite and not negative",
                fmt::format("got {}", bias_variance), "for example 0.05");
  }
}

/// q -> sw2 E phi(z sqrt(q))^2 + sb2, in logarithms, and the map of correlations at a fixed q.
class FixedPoints {
 public:
  FixedPoints(const SecondMap& map, double weight_variance, double bias_variance)
      : map_(map), sw2_(weight_variance), sb2_(bias_variance) {}

  std::vector<FixedPoint> run() {
    const std::vector<double> points = scan(), excesses = scanned_excess(points);
    if (is_zero(excesses)) return {every_q()};
    if (sb2_ == 0 && map_.second(0) == 0) found_.push_back(describe({0, 0}));
    for (const Bracket& bracket : sign_changes(excesses, points)) {
      const Root root = newton_root([this](double t) { return with_slope(t); }, bracket);
      found_.push_back(describe({std::exp(root.value), std::exp(root.value) * root.residual}));
    }
    if (found_.empty()) throw nothing();
    mark_reached();
    return std::move(found_);
  }

 private:
  double next(double q) const { return sw2_ * map_.second(q) + sb2_; }
  double excess(double t) const { return std::log(next(std::exp(t))) - t; }
  /// d ln q'/d ln q.
  double log_slope(double q) const { return map_.log_slope(q).value * (1 - sb2_ / next(q)); }
  std::pair<double, double> with_slope(double t) const {
    return {excess(t), log_slope(std::exp(t)) - 1};
  }

  std::vector<double> scanned_excess(const std::vector<double>& points) const {
    std::vector<double> values;
    for (std::size_t k = 0; k < points.size(); ++k) {
      values.push_back(std::log(sw2_ * map_.scanned()[k] + sb2_) - points[k]);
    }
    return values;
  }
  static bool is_zero(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(),
                       [](double value) { return std::fabs(value) < equal_enough; });
  }
  FixedPoint every_q() const {
    FixedPoint point = describe({1, excess(0)});
    point.reached = true;
    point.note = "every q is a fixed point: a stack keeps the q it starts with (here 1)";
    return point;
  }

  FixedPoint describe(const Root& q_star) const {
    const double q = q_star.value;
    FixedPoint point;
    point.q_star = q_star;
    point.chi = sw2_ * map_.slope_second(q);
    point.activation_second = map_.second(q);
    // At 0 the map is q' = sw2 E phi'^2 q to first order.
    point.q_slope = q == 0 ? point.chi : log_slope(q);
    point.q_stable = std::fabs(point.q_slope) < 1 - equal_enough;
    point.q_depth_scale = depth_scale(point.q_slope);
    if (std::fabs(point.chi - 1) < equal_enough) point.chi = 1;
    point.phase = point.chi == 1 ? "critical" : point.chi < 1 ? "ordered" : "chaotic";
    if (q == 0) {
      point.phase = "vanishes";
      point.c_depth_scale = depth_scale(point.chi);
    } else {
      correlation(point);
    }
    return point;
  }

  /// c -> (sw2 E[phi(u)phi(v)] + sb2)/q has the fixed point 1, stable while its slope there, chi,
  /// is at most 1; it is convex on [0, 1], so past that there is one other.
  void correlation(FixedPoint& point) const {
    point.c_star = Root{1, 0};
    double slope = point.chi;
    if (point.chi > 1) {
      const double q = point.q_star.value;
      const PairFunction pair(map_.activation(), Moment::cross, 0, q);
      const auto excess = [&](double c) { return (sw2_ * pair(c).value + sb2_) / q - c; };
      const Bracket bracket = correlation_bracket(excess);
      point.c_star = bracketed_root(excess, bracket);
      slope = sw2_ * pair.derivative(point.c_star->value) / q;
    }
    point.c_depth_scale = depth_scale(slope);
  }
  static Bracket correlation_bracket(const Function& excess) {
    if (!(excess(0) > equal_enough)) return {0, 0};
    for (double below = 0x1p-3; below > 1e-14; below /= 2) {
      if (excess(1 - below) < 0) return {0, 1 - below};
    }
    return {1, 1};
  }

  /// From q = 1 the map moves up or down to the next fixed point.
  void mark_reached() {
    const double rise = excess(0);
    const auto above = std::find_if(found_.begin(), found_.end(),
                                    [](const auto& point) { return point.q_star.value >= 1; });
    auto reached = found_.end();
    if (std::fabs(rise) < equal_enough) {
      reached = std::min_element(found_.begin(), found_.end(), [](const auto& a, const auto& b) {
        return std::fabs(a.q_star.value - 1) < std::fabs(b.q_star.value - 1);
      });
    } else if (rise > 0) {
      reached = above;
    } else if (above != found_.begin()) {
      reached = above - 1;
    }
    if (reached == found_.end()) {
      found_.front().note = rise > 0 ? "a stack that starts at q = 1 explodes"
                                     : "a stack that starts at q = 1 shrinks below 1e-12";
      return;
    }
    reached->reached = true;
    if (!reached->q_stable && std::fabs(reached->q_slope) > 1) {
      reached->note = "q alternates around it and does not settle";
    }
    std::rotate(found_.begin(), reached, reached + 1);
  }

  Error nothing() const {
    const bool up = excess(0) > 0;
    const double gain = 1 / std::sqrt(map_.second(1));
    return Error(ErrorKind::unsolvable,
                 up ? "no fixed point up to q = 1e8: the signal explodes"
                    : "no fixed point above q = 1e-12: the signal vanishes",
                 fmt::format("weight variance {}, bias variance {}", sw2_, sb2_),
                 fmt::format("without a bias, the weight variance that keeps q = 1 is {:.10g}",
                             gain * gain));
  }

  const SecondMap& map_;
  double sw2_, sb2_;
  std::vector<FixedPoint> found_;
};

}  // namespace

std::vector<FixedPoint> gains_room::fixed_points(const SecondMap& map, double weight_variance,
                                                 double bias_variance) {
  return FixedPoints(map, weight_variance, bias_variance).run();
}

std::vector<FixedPoint> solve_fixed_points(const Activation& activation, double weight_variance,
                                           double bias_variance) {
  check(weight_variance, bias_variance);
  return gains_room::fixed_points(SecondMap(activation), weight_variance, bias_variance);
}

}  // namespace scalecalc
