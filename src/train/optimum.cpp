#include "scalecalc/optimum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/statistics.hpp"
#include "scalecalc/error.hpp"
#include "train/least_squares.hpp"

namespace scalecalc {
namespace {

using train_room::Polynomial;

/// Degrees of freedom that the mean variance of the points counts as, beside a point's own.
constexpr double kPooledFreedom = 4;
/// A parabola is convex where its curvature is above 0 by so many standard errors.
constexpr double kConvex = 2;
/// Above the lowest point, which chance has chosen, by so many standard errors.
constexpr double kAbove = 3;

void check(const std::vector<CurvePoint>& curve) {
  const auto refuse = [](const char* message, const char* hint) {
    throw Error(ErrorKind::input, message, "curve_optimum", hint);
  };
  if (curve.size() < 3)
    refuse("a minimum needs three values at least", "for example 1e-3, 3e-3, 1e-2");
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (!(curve[i].value > (i == 0 ? 0 : curve[i - 1].value)) || !std::isfinite(curve[i].value))
      refuse("values are above 0 and rise", "for example 1e-3, 3e-3, 1e-2");
    if (curve[i].losses.size() != curve.front().losses.size())
      refuse("the points have unequal seeds", "measure the same seeds at each value");
  }
}

/// Of the mean loss of each point from `first` to `last`, the offsets of the seeds left out: of S
/// seeds and P points the squares of what is left have S - 1 degrees of freedom a point, and fall
/// short by (P - 1)/P. Empty of one seed.
std::vector<double> variances(const std::vector<CurvePoint>& curve, std::size_t first,
                              std::size_t last) {
  const std::size_t seeds = curve[first].losses.size(), points = last - first + 1;
  if (seeds < 2) return {};
  std::vector<double> offsets(seeds, 0.0);
  for (std::size_t s = 0; s < seeds; ++s)
    for (std::size_t i = first; i <= last; ++i)
      offsets[s] += (curve[i].losses[s] - curve[i].mean()) / static_cast<double>(points);
  const double freedom = static_cast<double>(seeds - 1);
  std::vector<double> own;
  for (std::size_t i = first; i <= last; ++i) {
    double squares = 0;
    for (std::size_t s = 0; s < seeds; ++s) {
      const double left = curve[i].losses[s] - curve[i].mean() - offsets[s];
      squares += left * left;
    }
    own.push_back(squares / freedom * static_cast<double>(points) /
                  static_cast<double>(points - 1));
  }
  const double pooled = base::sample_mean(own);
  for (double& variance : own)
    variance = (freedom * variance + kPooledFreedom * pooled) / (freedom + kPooledFreedom) /
               static_cast<double>(seeds);
  return own;
}

/// Points of a curve, and the parabola through them in t = ln(value/lowest value).
struct Window {
  std::size_t first = 0, last = 0;
  Polynomial<3> fit = {};
  double least = 0, most = 0;  ///< t of the first and the last

  double slope() const { return fit.value[1]; }
  double bend() const { return fit.value[2]; }
  double vertex() const { return -slope() / (2 * bend()); }
  bool has_vertex() const { return bend() > 0 && vertex() >= least && vertex() <= most; }
  bool is_convex() const {
    return has_vertex() && (!fit.has_error || bend() > kConvex * std::sqrt(fit.covariance[2][2]));
  }
};

/// Up to `reach` neighbours of the middle on each side, up to where a run diverged.
Window window_about(const std::vector<CurvePoint>& curve, std::size_t middle, std::size_t reach) {
  Window window{middle, middle};
  for (std::size_t k = 0; k < reach; ++k) {
    if (window.first > 0 && !curve[window.first - 1].diverged()) --window.first;
    if (window.last + 1 < curve.size() && !curve[window.last + 1].diverged()) ++window.last;
  }
  return window;
}

void fit_parabola(const std::vector<CurvePoint>& curve, double lowest, Window& window) {
  std::vector<double> x, y;
  for (std::size_t i = window.first; i <= window.last; ++i) {
    x.push_back(std::log(curve[i].value / lowest));
    y.push_back(curve[i].mean());
  }
  window.least = x.front();
  window.most = x.back();
  window.fit = train_room::fit_polynomial<3>(x, y, variances(curve, window.first, window.last));
}

/// About the point that is nearest to its own vertex: of a flat bottom the lowest point is one that
/// chance has chosen.
Window settled(const std::vector<CurvePoint>& curve, std::size_t lowest, std::size_t reach) {
  std::vector<std::size_t> middles;
  std::size_t middle = lowest;
  for (;;) {
    Window window = window_about(curve, middle, reach);
    fit_parabola(curve, curve[lowest].value, window);
    middles.push_back(middle);
    if (!window.has_vertex()) return window;
    const auto distance = [&](std::size_t i) {
      return std::fabs(std::log(curve[i].value / curve[lowest].value) - window.vertex());
    };
    for (std::size_t i = window.first; i <= window.last; ++i)
      if (distance(i) < distance(middle)) middle = i;
    const bool has_neighbours = middle > window.first && middle < window.last;
    if (!has_neighbours || std::ranges::find(middles, middle) != middles.end()) return window;
  }
}

/// The last points on both sides up to which, from the end of the grid on, all lie above the lowest
/// by three standard errors of the difference, or have diverged; nothing where a side has none, or
/// of one seed.
std::optional<std::pair<std::size_t, std::size_t>> bracket_of(const std::vector<CurvePoint>& curve,
                                                              std::size_t lowest) {
  if (curve[lowest].losses.size() < 2) return {};
  const auto is_above = [&](std::size_t i) {
    if (curve[i].diverged()) return true;
    std::vector<double> differences;
    for (std::size_t s = 0; s < curve[i].losses.size(); ++s)
      differences.push_back(curve[i].losses[s] - curve[lowest].losses[s]);
    return base::sample_mean(differences) > kAbove * base::error_of_mean(differences);
  };
  if (!is_above(0) || !is_above(curve.size() - 1)) return {};
  std::size_t below = 0, above = curve.size() - 1;
  while (is_above(below + 1)) ++below;
  while (is_above(above - 1)) --above;
  return std::pair(below, above);
}

/// A minimum outside of the parabola's points whose loss is not above the lowest by two standard
/// errors of both.
double rival_of(const std::vector<CurvePoint>& curve, const Window& window, std::size_t lowest) {
  const auto height = [&](std::size_t i) {
    const bool is_there = i < curve.size() && !curve[i].diverged();
    return is_there ? curve[i].mean() : std::numeric_limits<double>::infinity();
  };
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if ((i >= window.first && i <= window.last) || std::isinf(height(i))) continue;
    if (height(i) > height(i + 1) || (i > 0 && height(i) > height(i - 1))) continue;
    std::vector<double> differences;
    for (std::size_t s = 0; s < curve[i].losses.size(); ++s)
      differences.push_back(curve[i].losses[s] - curve[lowest].losses[s]);
    const double error = differences.size() > 1 ? base::error_of_mean(differences) : 0.0;
    if (base::sample_mean(differences) <= 2 * error) return curve[i].value;
  }
  return std::nan("");
}

}  // namespace

bool CurvePoint::diverged() const {
  return losses.empty() ||
         !std::ranges::all_of(losses, [](double loss) { return std::isfinite(loss); });
}

double CurvePoint::mean() const {
  return diverged() ? std::numeric_limits<double>::infinity() : base::sample_mean(losses);
}

const std::vector<std::string>& optimum_kind_names() {
  static const std::vector<std::string> names = {"inside",        "lower edge",  "upper edge",
                                                 "at divergence", "flat bottom", "not convex",
                                                 "diverged"};
  return names;
}

bool has_place(OptimumKind kind) {
  return kind == OptimumKind::inside || kind == OptimumKind::at_divergence ||
         kind == OptimumKind::flat_bottom;
}

std::string to_string(OptimumKind kind) {
  return optimum_kind_names()[static_cast<std::size_t>(kind)];
}

CurveOptimum curve_optimum(const std::vector<CurvePoint>& curve, std::size_t reach) {
  check(curve);
  const auto best = std::ranges::min_element(curve, {}, &CurvePoint::mean);
  const auto lowest = static_cast<std::size_t>(best - curve.begin());
  CurveOptimum found;
  if (best->diverged()) return found;
  found.value = best->value;
  found.loss = best->mean();
  Window window = window_about(curve, lowest, reach);
  const bool is_edge = lowest == 0 || lowest + 1 == curve.size();
  const bool is_beside = window.first == lowest || window.last == lowest;
  if (!is_edge && !is_beside) window = settled(curve, lowest, reach);
  found.first = window.first;
  found.last = window.last;
  found.rival = rival_of(curve, window, lowest);
  if (is_edge) {
    found.kind = lowest == 0 ? OptimumKind::lower_edge : OptimumKind::upper_edge;
    return found;
  }
  if (is_beside) {
    found.kind = OptimumKind::at_divergence;
    // Of a uniform distribution between the neighbours.
    found.log_error = std::log(curve[lowest + 1].value / curve[lowest - 1].value) / std::sqrt(12.0);
    return found;
  }
  found.kind = OptimumKind::not_convex;
  if (!window.is_convex()) {
    const auto bracket = bracket_of(curve, lowest);
    if (!bracket) return found;
    found.kind = OptimumKind::flat_bottom;
    const double below = std::log(curve[bracket->first].value);
    const double above = std::log(curve[bracket->second].value);
    found.value = std::exp((below + above) / 2);
    found.log_error = (above - below) / std::sqrt(12.0);  // of a uniform distribution
    return found;
  }
  const double vertex = window.vertex();
  found.kind = OptimumKind::inside;
  found.value = best->value * std::exp(vertex);
  found.loss = window.fit.value[0] + vertex * window.slope() / 2;
  found.curvature = 2 * window.bend();
  if (!window.fit.has_error) return found;
  // d vertex = -(d slope + 2 vertex d bend)/(2 bend).
  const auto& covariance = window.fit.covariance;
  const double variance =
      covariance[1][1] + 4 * vertex * covariance[1][2] + 4 * vertex * vertex * covariance[2][2];
  found.log_error = std::sqrt(variance) / (2 * window.bend());
  return found;
}

double OptimumLaw::at(double size) const {
  return std::exp(intercept + exponent * std::log(size));
}

OptimumLaw optimum_law(const std::vector<double>& sizes, const std::vector<CurveOptimum>& optima) {
  std::vector<double> x, y, errors;
  for (std::size_t i = 0; i < optima.size(); ++i) {
    if (!has_place(optima[i].kind)) continue;
    x.push_back(std::log(sizes.at(i)));
    y.push_back(std::log(optima[i].value));
    errors.push_back(optima[i].log_error * optima[i].log_error);
  }
  OptimumLaw law;
  law.sizes = x.size();
  if (x.size() < 2) return law;
  const bool is_weighted = std::ranges::all_of(errors, [](double of) { return of > 0; });
  const Polynomial<2> line =
      train_room::fit_polynomial<2>(x, y, is_weighted ? errors : std::vector<double>{});
  law.intercept = line.value[0];
  law.exponent = line.value[1];
  if (line.has_error) law.standard_error = std::sqrt(line.covariance[1][1]);
  return law;
}

}  // namespace scalecalc
