#include "report/plot/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace scalecalc::report {
namespace {

constexpr double kMargin = 0.04;    // of a range, on either side
constexpr double kLargest = 1e300;  // so that differences stay finite
constexpr double kLogFrom = 30;     // factor between extremes from which powers of ten help

/// Collects what an axis has to hold.
class Extent {
 public:
  explicit Extent(const Axis& axis) : axis_(axis) {}

  void add(double value) {
    if (!std::isfinite(value) || !is_drawable(axis_, value)) return;
    value = std::clamp(value, std::max(axis_.least, -kLargest), std::min(axis_.most, kLargest));
    if (is_log(axis_) && value <= 0) return;
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
  }

  Range range() const {
    if (!axis_.names.empty()) return {-0.5, static_cast<double>(axis_.names.size()) - 0.5};
    if (!(least_ <= most_)) return is_log(axis_) ? Range{1, 10} : Range{0, 1};
    return is_log(axis_) ? widened_log() : widened();
  }

 private:
  Range widened() const {
    const double span = most_ - least_;
    const double margin = span > 0 ? kMargin * span : least_ == 0 ? 1 : 0.1 * std::abs(least_);
    return {least_ - margin, most_ + margin};
  }
  Range widened_log() const {
    const double decades = std::log10(most_) - std::log10(least_);
    const double factor = std::pow(10.0, decades > 0 ? kMargin * decades : 0.3);
    return {std::max(least_ / factor, std::numeric_limits<double>::min()),
            std::min(most_ * factor, kLargest)};
  }

  const Axis& axis_;
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

std::string to_string(Origin origin) {
  switch (origin) {
    case Origin::predicted: return "predicted";
    case Origin::measured: return "measured";
    case Origin::fitted: return "fitted";
    case Origin::exact: break;
  }
  return "exact";
}

AxisScale fitting_scale(const std::vector<Series>& series) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Series& one : series) {
    for (const PlotPoint& point : one.points) {
      if (!std::isfinite(point.y)) continue;
      if (point.y <= 0) return AxisScale::linear;
      least = std::min(least, point.y);
      most = std::max(most, point.y);
    }
  }
  return most / least > kLogFrom ? AxisScale::logarithmic : AxisScale::linear;
}

bool is_log(const Axis& axis) {
  return axis.scale == AxisScale::logarithmic && axis.names.empty();
}

bool is_drawable(const Axis& axis, double value) {
  return !std::isnan(value) && !(is_log(axis) && value <= 0);
}

Range range_of_x(const Plot& plot) {
  Extent extent(plot.x);
  for (const Series& series : plot.series) {
    for (const PlotPoint& point : series.points) extent.add(point.x);
  }
  for (const double tick : plot.x.ticks) extent.add(tick);
  return extent.range();
}

Range range_of_y(const Plot& plot) {
  Extent extent(plot.y);
  for (const Series& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      extent.add(point.y);
      if (point.has_band()) {
        extent.add(point.least);
        extent.add(point.most);
      }
      if (!std::isfinite(point.error)) continue;
      extent.add(point.y + point.error);
      // On a logarithmic axis a bar that nears zero would take all the room.
      if (!is_log(plot.y) || point.error < 0.9 * point.y) extent.add(point.y - point.error);
    }
  }
  return extent.range();
}

std::string axis_text(const Axis& axis) {
  return axis.unit.empty() ? axis.label : axis.label + " (" + axis.unit + ")";
}

std::string legend_text(const Series& series) {
  return series.name.empty() ? std::string() : series.name + ", " + to_string(series.origin);
}

const char* colour_of(int look) {
  static constexpr std::array<const char*, kColours> colours = {
      "#2c7fd1", "#cf6a10", "#2a9458", "#c0478f", "#8a63d2", "#12909f", "#d14343", "#8a7d12"};
  return colours[static_cast<std::size_t>(look % kColours)];
}

int mark_of(int look) {
  return (look + look / kColours) % kMarks;
}

bool has_mark(const Series& series, std::size_t index) {
  constexpr std::size_t kMarksOfCurve = 12;
  const std::size_t count = series.points.size();
  if (!series.joined || count <= kMarksOfCurve) return true;
  const std::size_t stride = count / kMarksOfCurve;
  return (index + static_cast<std::size_t>(series.look) * stride / 4) % stride == 0;
}

const std::vector<int>& dashes_of(const Series& series) {
  static const std::vector<int> solid;
  static const std::array<std::vector<int>, kDashes> patterns = {
      {{7, 3}, {2, 3}, {9, 3, 2, 3}, {14, 4}, {4, 2, 4, 2, 1, 2}, {12, 3, 2, 3, 2, 3}}};
  static const std::vector<int> dots = {1, 3};
  switch (series.origin) {
    case Origin::measured: return solid;
    case Origin::fitted: return dots;
    case Origin::exact:
      if (series.look == 0) return solid;
      return patterns[static_cast<std::size_t>((series.look - 1) % kDashes)];
    case Origin::predicted: break;
  }
  return patterns[static_cast<std::size_t>(series.look % kDashes)];
}

}  // namespace scalecalc::report
