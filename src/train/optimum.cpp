#include "scalecalc/optimum.hpp"

#include <algorithm>
#include <array>
#include <cmath>

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

/// The parabola through the points, in t = ln(value/lowest).
Polynomial<3> parabola(const std::vector<CurvePoint>& curve, const CurveOptimum& found,
                       double lowest) {
  std::vector<double> x, y;
  for (std::size_t i = found.first; i <= found.last; ++i) {
    x.push_back(std::log(curve[i].value / lowest));
    y.push_back(curve[i].mean());
  }
  return train_room::fit_polynomial<3>(x, y, variances(curve, found.first, found.last));
}

/// A minimum outside of the parabola's points whose loss is not above the lowest by two standard
/// errors of both.
double rival_of(const std::vector<CurvePoint>& curve, const CurveOptimum& found,
                std::size_t lowest) {
  const auto height = [&](std::size_t i) {
    const bool is_there = i < curve.size() && !curve[i].diverged();
    return is_there ? curve[i].mean() : std::numeric_limits<double>::infinity();
  };
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if ((i >= found.first && i <= found.last) || std::isinf(height(i))) continue;
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
  static const std::vector<std::string> names = {"inside",        "lower edge", "upper edge",
                                                 "at divergence", "not convex", "diverged"};
  return names;
}

bool has_place(OptimumKind kind) {
  return kind == OptimumKind::inside || kind == OptimumKind::at_divergence;
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
  found.first = found.last = lowest;
  for (std::size_t k = 0; k < reach; ++k) {
    if (found.first > 0 && !curve[found.first - 1].diverged()) --found.first;
    if (found.last + 1 < curve.size() && !curve[found.last + 1].diverged()) ++found.last;
  }
  found.rival = rival_of(curve, found, lowest);
  if (lowest == 0 || lowest + 1 == curve.size()) {
    found.kind = lowest == 0 ? OptimumKind::lower_edge : OptimumKind::upper_edge;
    return found;
  }
  if (found.first == lowest || found.last == lowest) {
    found.kind = OptimumKind::at_divergence;
    // Of a uniform distribution between the neighbours.
    found.log_error = std::log(curve[lowest + 1].value / curve[lowest - 1].value) / std::sqrt(12.0);
    return found;
  }
  const Polynomial<3> fit = parabola(curve, found, best->value);
  const double slope = fit.value[1], bend = fit.value[2];
  const double vertex = -slope / (2 * bend);
  found.kind = OptimumKind::not_convex;
  const bool is_convex =
      bend > 0 && (!fit.has_error || bend > kConvex * std::sqrt(fit.covariance[2][2]));
  const bool is_within = vertex >= std::log(curve[found.first].value / best->value) &&
                         vertex <= std::log(curve[found.last].value / best->value);
  if (!is_convex || !is_within) return found;
  found.kind = OptimumKind::inside;
  found.value = best->value * std::exp(vertex);
  found.loss = fit.value[0] + vertex * slope / 2;
  found.curvature = 2 * bend;
  if (!fit.has_error) return found;
  // d vertex = -(d slope + 2 vertex d bend)/(2 bend).
  const double variance = fit.covariance[1][1] + 4 * vertex * fit.covariance[1][2] +
                          4 * vertex * vertex * fit.covariance[2][2];
  found.log_error = std::sqrt(variance) / (2 * bend);
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
