#include <algorithm>
#include <array>
#include <cmath>

#include "scalecalc/plot.hpp"

namespace scalecalc::report {
namespace {

constexpr int kHeights = 8;
constexpr std::array<const char*, kHeights> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, kHeights> kAscii = {"_", ".", ":", "-", "=", "+", "*", "#"};
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The mean of what is known; an infinity stays one.
std::vector<double> averaged(const std::vector<double>& values, std::size_t count) {
  if (values.size() <= count) return values;
  std::vector<double> means;
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0, known = 0;
    for (std::size_t at = i * values.size() / count; at < (i + 1) * values.size() / count; ++at) {
      if (std::isnan(values[at])) continue;
      sum += values[at];
      ++known;
    }
    means.push_back(known > 0 ? sum / known : kNaN);
  }
  return means;
}

double on_scale(double value, AxisScale scale) {
  if (scale == AxisScale::linear) return value;
  return value > 0 ? std::log(value) : kNaN;
}

}  // namespace

std::string sparkline(const std::vector<double>& values, int width, bool unicode, AxisScale scale) {
  if (width <= 0) return {};
  std::vector<double> heights;
  for (const double value : values) heights.push_back(on_scale(value, scale));
  heights = averaged(heights, static_cast<std::size_t>(width));
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const double height : heights) {
    if (!std::isfinite(height)) continue;
    least = std::min(least, height);
    most = std::max(most, height);
  }
  // Differences in the last digits are none.
  const bool is_flat = !(most / 2 - least / 2 > 1e-9 * std::max(std::abs(least), std::abs(most)));
  const auto& characters = unicode ? kBlocks : kAscii;
  std::string text;
  for (const double height : heights) {
    if (std::isnan(height)) {
      text += ' ';
      continue;
    }
    double share = is_flat ? 0.5 : (height / 2 - least / 2) / (most / 2 - least / 2);
    if (std::isinf(height)) share = height > 0 ? 1 : 0;
    const int level = static_cast<int>(std::clamp(share, 0.0, 1.0) * (kHeights - 1) + 0.5);
    text += characters[static_cast<std::size_t>(level)];
  }
  return text;
}

}  // namespace scalecalc::report
