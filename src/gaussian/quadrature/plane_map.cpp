#include "gaussian/quadrature/plane_map.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::gaussian::quadrature {
namespace {

constexpr double farthest = 39;

std::vector<double> rows_of(const PairFrame& frame, const Profile& profile) {
  const double lowest = frame.is_even_across() ? 0 : -farthest;
  std::vector<double> y;
  for (double at = lowest; at <= farthest; at += PlaneMap::step) y.push_back(at);
  double last = lowest;
  for (const Anchor& anchor : frame.crossings(profile, lowest, farthest)) {
    for (const double part : {0.38, 0.62}) y.push_back(std::lerp(last, anchor.z, part));
    last = anchor.z;
    const double width = std::min(anchor.width, PlaneMap::step);
    for (const double away : {-1.0, 0.0, 1.0}) {
      const double at = anchor.z + away * width;
      if (at >= lowest && at <= farthest) y.push_back(at);
    }
  }
  std::sort(y.begin(), y.end());
  return y;
}

/// |f(u) f(v)| with the density of the plane, at each z.
Extent sizes(const Activation& activation, bool slope, const Line& line, double y,
             const std::vector<double>& z) {
  const std::size_t count = z.size();
  std::vector<double> x(2 * count), f(2 * count), df(2 * count);
  for (std::size_t k = 0; k < count; ++k) {
    const auto [u, v] = line.at(z[k]);
    x[k] = u;
    x[count + k] = v;
  }
  activation.evaluate(x.data(), f.data(), slope ? df.data() : nullptr, x.size());
  const std::vector<double>& values = slope ? df : f;
  Extent extent(1, count);
  for (std::size_t k = 0; k < count; ++k) {
    const double root = std::exp(-0.25 * (z[k] * z[k] + y * y));
    extent(0, k) = std::fabs(values[k] * root) * std::fabs(values[count + k] * root);
  }
  return extent;
}

}  // namespace

PlaneMap::PlaneMap(const Profile& profile, bool slope, const PairFrame& frame)
    : y_(rows_of(frame, profile)) {
  std::vector<std::vector<double>> places;
  std::vector<Extent> extents;
  double largest = 0;
  for (const double y : y_) {
    const Line line = frame.line(y);
    places.push_back(probes(line, profile, step));
    extents.push_back(sizes(profile.activation, slope, line, y, places.back()));
    largest = std::max(largest, extents.back().largest());
  }
  double mass = 0, last = 0;
  for (std::size_t k = 0; k < y_.size(); ++k) {
    const double next = extents[k].mass(places[k]);
    if (k > 0) mass += 0.5 * (y_[k] - y_[k - 1]) * (next + last);
    last = next;
  }
  scale_ = std::min(largest, mass);
  for (std::size_t k = 0; k < y_.size(); ++k) {
    rows_.push_back(scale_ > 0 ? extents[k].window(places[k], step, scale_) : Window{});
    is_resolved_ = is_resolved_ && rows_.back().is_resolved;
  }
  is_resolved_ = is_resolved_ && std::isfinite(largest);
}

Window PlaneMap::along(double y) const {
  const auto above =
      static_cast<std::size_t>(std::upper_bound(y_.begin(), y_.end(), y) - y_.begin());
  Window result;
  for (std::size_t k = above > 0 ? above - 1 : 0; k <= above && k < rows_.size(); ++k) {
    if (rows_[k].is_empty) continue;
    result.low = result.is_empty ? rows_[k].low : std::min(result.low, rows_[k].low);
    result.high = result.is_empty ? rows_[k].high : std::max(result.high, rows_[k].high);
    result.is_empty = false;
  }
  return result;
}

Window PlaneMap::across() const {
  Window result;
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    if (rows_[k].is_empty) continue;
    if (result.is_empty) result.low = std::max(y_[k] - step, y_.front());
    result.high = std::min(y_[k] + step, y_.back());
    result.is_empty = false;
  }
  return result;
}

}  // namespace scalecalc::gaussian::quadrature
