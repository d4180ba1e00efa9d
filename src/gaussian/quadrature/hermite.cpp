#include "gaussian/quadrature/hermite.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/deadline.hpp"
#include "base/vector_math.hpp"
#include "gaussian/lane_sum.hpp"
#include "gaussian/quadrature/adaptive.hpp"
#include "gaussian/quadrature/panel_sums.hpp"
#include "gaussian/quadrature/rule.hpp"
#include "gaussian/quadrature/window.hpp"

namespace scalecalc::gaussian::quadrature {
namespace {

namespace lanes = base::vector_math;
using lanes::Real;

/// Past this there are no roots of He_n below the density's end that panels of half a unit miss.
constexpr double panel_width = 1.0;

/// f(x) times the density and the rule's weight, and z, at every node.
struct Nodes {
  std::vector<double> z, kronrod, gauss;
  double second = 0;
  double moved = 0;  ///< E (x f')^2: what relative roundings of x do
  bool finite = true;
};

/// He_n(z)/sqrt(n!) is below exp(z^2/4): what counts is f times the root of the density.
Window series_window(const Profile& profile, const Line& line, bool slope) {
  const std::vector<double> z = probes(line, profile, 0.75);
  std::vector<double> x(z.size()), y(z.size()), dy(z.size());
  for (std::size_t k = 0; k < z.size(); ++k) x[k] = line.at(z[k])[0];
  profile.activation.evaluate(x.data(), y.data(), dy.data(), z.size());
  Extent extent(1, z.size());
  for (std::size_t k = 0; k < z.size(); ++k) {
    extent(0, k) = std::fabs(slope ? dy[k] : y[k]) * std::exp(-0.25 * z[k] * z[k]);
  }
  return extent.window(z, 0.75);
}

std::vector<Panel> series_panels(const Profile& profile, const Line& line, const Window& window) {
  std::vector<Panel> wide, panels;
  fill(line, anchors(line, profile, window.low, window.high), wide);
  for (const Panel& panel : wide) {
    const int parts = static_cast<int>(std::ceil(2 * panel.half / panel_width));
    for (int k = 0; k < parts; ++k) {
      const double half = panel.half / parts;
      panels.push_back(panel.part(line, (2 * k + 1) * half - panel.half, half));
    }
  }
  return panels;
}

Nodes nodes_of(const Profile& profile, const Line& line, const std::vector<Panel>& panels,
               bool slope) {
  const Rule& r = rule();
  const std::size_t count = panels.size() * Rule::padded;
  Nodes nodes;
  std::vector<double> x(count), y(count), dy(count);
  nodes.z.resize(count);
  nodes.kronrod.resize(count);
  nodes.gauss.resize(count);
  for (std::size_t k = 0, at = 0; k < panels.size(); ++k) {
    for (std::size_t j = 0; j < Rule::padded; ++j, ++at) {
      nodes.z[at] = panels[k].centre + panels[k].half * r.node[j];
      x[at] = panels[k].x[0] + line.tracks[0].slope * panels[k].half * r.node[j];
    }
  }
  profile.activation.evaluate(x.data(), y.data(), dy.data(), count);
  for (std::size_t k = 0, at = 0; k < panels.size(); ++k) {
    for (std::size_t j = 0; j < Rule::padded; ++j, ++at) {
      const double z = nodes.z[at], f = slope ? dy[at] : y[at];
      const double density = panels[k].half * density_factor * std::exp(-0.5 * z * z);
      nodes.kronrod[at] = r.kronrod[j] * density * f;
      nodes.gauss[at] = r.gauss[j] * density * f;
      nodes.second += nodes.kronrod[at] * f;
      if (r.step[j] == 0) continue;
      const double next = slope ? dy[at + 1] : y[at + 1];
      const double turned = x[at] * (next - f) / (x[at + 1] - x[at]);
      nodes.moved += r.kronrod[j] * density * turned * turned;
    }
  }
  nodes.finite = std::isfinite(nodes.second);
  return nodes;
}

/// sum of kronrod * h and gauss * h for h = He_n/sqrt(n!), n = 0, 1, ..., by the recurrence.
class Projection {
 public:
  explicit Projection(const Nodes& nodes)
      : nodes_(nodes), now_(nodes.z.size(), 1.0), before_(nodes.z.size(), 0.0) {}

  std::array<double, 2> next() {
    const double n = n_++, root = std::sqrt(n), scale = 1 / std::sqrt(n + 1);
    Real fine{}, coarse{};
    for (std::size_t k = 0; k < now_.size(); k += lanes::lanes) {
      const Real h = lanes::load(&now_[k]), z = lanes::load(&nodes_.z[k]);
      fine += h * lanes::load(&nodes_.kronrod[k]);
      coarse += h * lanes::load(&nodes_.gauss[k]);
      lanes::store((z * h - root * lanes::load(&before_[k])) * scale, &before_[k]);
    }
    now_.swap(before_);
    return {lane_sum(fine), lane_sum(coarse)};
  }

 private:
  const Nodes& nodes_;
  std::vector<double> now_, before_;
  int n_ = 0;
};

double polynomial(const std::vector<double>& coefficients, double c) {
  if (c == 0) return coefficients.empty() ? 0 : coefficients.front();
  double sum = 0;
  for (std::size_t n = coefficients.size(); n-- > 0;) sum = sum * c + coefficients[n];
  return sum;
}

/// polynomial(a, c) and polynomial(b, |c|) of as many coefficients, to rounding: each step waits
/// for the one before, so that two at once take the time of one.
std::array<double, 2> polynomials(const std::vector<double>& a, double c,
                                  const std::vector<double>& b) {
  const double d = std::fabs(c);
  if (a.size() != b.size() || c == 0) return {polynomial(a, c), polynomial(b, d)};
  double first = 0, second = 0;
  for (std::size_t n = series_terms_at(d, a.size()); n-- > 0;) {
    first = first * c + a[n];
    second = second * d + b[n];
  }
  return {first, second};
}

}  // namespace

std::size_t series_terms_at(double c, std::size_t all) {
  constexpr double digits = 41.5;  // ln 1e18
  if (!(c < 1)) return all;
  if (c == 0) return std::min<std::size_t>(all, 1);
  return std::min(all, 4 + static_cast<std::size_t>(std::ceil(-digits / std::log(c))));
}

std::optional<HermiteSeries> HermiteSeries::make(const Profile& profile, bool slope, double mean,
                                                 double variance, std::size_t terms) {
  Line line;
  line.tracks[0] = {mean, std::sqrt(variance)};
  const Window window = series_window(profile, line, slope);
  if (!window.is_resolved) return std::nullopt;
  HermiteSeries series;
  series.squares_.assign(1, 0.0);
  if (window.is_empty) return series;
  const Nodes nodes = nodes_of(profile, line, series_panels(profile, line, window), slope);
  if (!nodes.finite) return std::nullopt;
  series.second_ = nodes.second;
  const double unit = std::sqrt(nodes.second);
  const double floor = epsilon * (unit + std::sqrt(nodes.moved));
  Projection projection(nodes);
  series.squares_.clear();
  double sum = 0;
  base::check_deadline();
  for (std::size_t n = 0; n < terms; ++n) {
    const auto [fine, coarse] = projection.next();
    const double error = kronrod_error(fine - coarse, unit) + floor;
    series.squares_.push_back(fine * fine);
    series.errors_.push_back(error * (2 * std::fabs(fine) + error) + 2 * epsilon * fine * fine);
    sum += fine * fine;
    if (n > 4 && nodes.second - sum < 2 * epsilon * nodes.second) break;
  }
  series.rest_ = std::max(0.0, nodes.second - sum) + 4 * epsilon * nodes.second;
  return series;
}

/// E f f = (l + r)^2/4 + (l - r)^2/(2 pi) asin(c), asin(c) = sum (2k)!/(4^k k!^2 (2k+1)) c^(2k+1).
HermiteSeries HermiteSeries::step(const std::array<double, 2>& sides, std::size_t terms) {
  const auto [left, right] = sides;
  const double mean = 0.5 * (left + right), difference = left - right;
  HermiteSeries series;
  series.second_ = 0.5 * (left * left + right * right);
  series.squares_ = {mean * mean};
  double term = difference * difference / (2 * std::numbers::pi), sum = mean * mean;
  for (std::size_t k = 1; difference != 0 && series.squares_.size() + 2 <= terms; ++k) {
    const auto n = static_cast<double>(k);
    series.squares_.push_back(term / (2 * n - 1));
    series.squares_.push_back(0);
    sum += series.squares_[2 * k - 1];
    term *= (2 * n - 1) / (2 * n);
  }
  for (std::size_t n = 0; n < series.squares_.size(); ++n) {
    series.errors_.push_back((4 + static_cast<double>(n)) * epsilon * series.squares_[n]);
  }
  if (difference != 0) series.rest_ = std::max(0.0, series.second_ - sum);
  return series;
}

Estimate HermiteSeries::operator()(double correlation) const {
  const double c = std::fabs(correlation);
  const auto [value, errors] = polynomials(squares_, correlation, errors_);
  return {value, rest_ * std::pow(c, static_cast<double>(squares_.size())) + errors,
          Method::quadrature};
}

double HermiteSeries::derivative(double correlation) const {
  double sum = 0;
  for (std::size_t n = squares_.size(); n-- > 1;) {
    sum = sum * correlation + static_cast<double>(n) * squares_[n];
  }
  return sum;
}

double HermiteSeries::error(double correlation) const {
  const double c = std::fabs(correlation);
  return rest_ * std::pow(c, static_cast<double>(squares_.size())) + polynomial(errors_, c);
}

}  // namespace scalecalc::gaussian::quadrature
