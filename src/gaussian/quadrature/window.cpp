#include "gaussian/quadrature/window.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::gaussian::quadrature {
namespace {

constexpr double farthest = 39, negligible = 1e-19, grid = 0.75;

}  // namespace

Window Extent::window(const std::vector<double>& z, double margin, double scale) const {
  Window result;
  std::size_t first = size_, last = 0;
  for (std::size_t c = 0; c * size_ < values_.size(); ++c) {
    const double* row = values_.data() + c * size_;
    const double top = scale > 0 ? scale : std::min(largest(c), mass(z, c));
    for (std::size_t k = 0; k < size_; ++k) {
      if (!(row[k] < infinite)) result.is_resolved = false;
      if (row[k] <= negligible * top) continue;
      first = std::min(first, k);
      last = std::max(last, k);
    }
  }
  if (first > last) return result;
  result.is_empty = false;
  // An integrand that counts at the last place counts beyond it, too.
  if (first == 0 || last + 1 == size_) result.is_resolved = false;
  result.low = std::max(z[first] - margin, z.front());
  result.high = std::min(z[last] + margin, z.back());
  return result;
}

double Extent::largest(std::size_t channel) const {
  const double* row = values_.data() + channel * size_;
  return *std::max_element(row, row + size_);
}

double Extent::mass(const std::vector<double>& z, std::size_t channel) const {
  const double* row = values_.data() + channel * size_;
  double sum = 0;
  for (std::size_t k = 1; k < size_; ++k) sum += 0.5 * (z[k] - z[k - 1]) * (row[k] + row[k - 1]);
  return sum;
}

std::vector<double> probes(const Line& line, const Profile& profile, double step) {
  std::vector<double> result;
  const auto add = [&](double place) {
    if (std::fabs(place) < farthest) result.push_back(place);
  };
  const auto count = static_cast<int>(farthest / step);
  for (int k = -count; k <= count; ++k) result.push_back(k * step);
  std::vector<double> features;
  for (std::size_t k = 0; k < line.count; ++k) {
    const auto [offset, slope, parts] = line.tracks[k];
    if (slope == 0) continue;
    for (const Feature& feature : profile.features) {
      const double z = (feature.at - offset) / slope;
      const double width = std::min(feature.width / std::fabs(slope), step);
      for (const double away : {-0.25, 0.25, -1.0, 1.0, -2.0, 2.0}) add(z + away * width);
      // A slope may be infinite at a break itself.
      if (!feature.is_break) add(z);
      features.push_back(z);
    }
  }
  // Between two breaks there may be all that counts, and one place may be a zero.
  std::sort(features.begin(), features.end());
  for (std::size_t k = 1; k < features.size(); ++k) {
    for (const double part : {0.38, 0.62}) add(std::lerp(features[k - 1], features[k], part));
  }
  std::sort(result.begin(), result.end());
  return result;
}

Window moment_window(const Profile& profile, const Line& line) {
  const std::vector<double> z = probes(line, profile, grid);
  std::vector<double> x(z.size()), y(z.size()), dy(z.size());
  for (std::size_t k = 0; k < z.size(); ++k) x[k] = line.at(z[k])[0];
  profile.activation.evaluate(x.data(), y.data(), dy.data(), z.size());
  Extent extent(5, z.size());
  for (std::size_t k = 0; k < z.size(); ++k) {
    const double root = std::exp(-0.125 * z[k] * z[k]), root2 = root * root;
    const double value = std::fabs(y[k]) * root, slope = std::fabs(dy[k]) * root;
    extent(0, k) = value * root * root2;
    extent(1, k) = value * value * root2;
    extent(2, k) = slope * root * root2;
    extent(3, k) = slope * slope * root2;
    extent(4, k) = value * value * value * value;
  }
  return extent.window(z, grid);
}

}  // namespace scalecalc::gaussian::quadrature
