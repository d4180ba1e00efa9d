#include "report/plot/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace scalecalc::report {
namespace {

constexpr double kMargin = 0.04;      // of a range, on either side
constexpr double kLargest = 1e300;    // so that differences stay finite
constexpr double kLogFrom = 30;       // factor between extremes from which powers of ten help
constexpr double kManyDecades = 1e3;  // from which only powers of ten are labelled

bool is_log(const Axis& axis) {
  return axis.scale == AxisScale::logarithmic;
}

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

/// 1, 2 or 5 times a power of ten, not below `step`.
double round_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::string label_of(double value, double step) {
  if (std::abs(value) < 1e-9 * step) return "0";
  const double digits = std::log10(std::abs(value) / step) + 2;
  return format_number(value, std::clamp(static_cast<int>(digits), 2, 12));
}

std::vector<Tick> linear_ticks(const Range& range, int most) {
  const double step = round_step((range.most - range.least) / std::max(most, 1));
  std::vector<Tick> ticks;
  const double first = std::ceil(range.least / step), last = std::floor(range.most / step);
  for (double i = first; i <= last && ticks.size() < 100; ++i) {
    ticks.push_back({i * step, label_of(i * step, step)});
  }
  return ticks;
}

std::string power_label(int exponent) {
  constexpr int kPlain = 3;
  return std::abs(exponent) > kPlain ? fmt::format("1e{}", exponent)
                                     : format_number(std::pow(10.0, exponent), 3);
}

std::vector<Tick> decade_ticks(const Range& range, int most) {
  const int first = static_cast<int>(std::ceil(std::log10(range.least) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(range.most) + 1e-9));
  const int stride = std::max(1, (last - first + most) / std::max(most, 1));
  std::vector<Tick> ticks;
  for (int i = first; i <= last; ++i) {
    if (i % stride == 0) ticks.push_back({std::pow(10.0, i), power_label(i)});
  }
  return ticks;
}

std::vector<Tick> log_ticks(const Range& range, int most) {
  if (range.most / range.least >= kManyDecades) return decade_ticks(range, most);
  std::vector<Tick> ticks;
  for (int i = static_cast<int>(std::floor(std::log10(range.least)));
       std::pow(10.0, i) <= range.most; ++i) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double at = factor * std::pow(10.0, i);
      if (at >= range.least && at <= range.most) ticks.push_back({at, format_number(at, 3)});
    }
  }
  if (ticks.size() >= 3) return ticks;
  ticks = linear_ticks(range, most);
  std::erase_if(ticks, [](const Tick& tick) { return tick.at <= 0; });
  return ticks;
}

int beyond(const Axis& axis, double value) {
  return std::isinf(value) || value < axis.least || value > axis.most ? 1 : 0;
}

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
      if (!std::isfinite(point.error)) continue;
      extent.add(point.y + point.error);
      // On a logarithmic axis a bar that nears zero would take all the room.
      if (!is_log(plot.y) || point.error < 0.9 * point.y) extent.add(point.y - point.error);
    }
  }
  return extent.range();
}

std::vector<Tick> ticks_of(const Axis& axis, const Range& range, int most) {
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < axis.names.size(); ++i) {
    ticks.push_back({static_cast<double>(i), axis.names[i]});
  }
  for (const double at : axis.ticks) {
    if (at >= range.least && at <= range.most) ticks.push_back({at, format_number(at, 6)});
  }
  if (!ticks.empty()) return ticks;
  return is_log(axis) ? log_ticks(range, most) : linear_ticks(range, most);
}

std::string axis_text(const Axis& axis) {
  return axis.unit.empty() ? axis.label : axis.label + " (" + axis.unit + ")";
}

std::string legend_text(const Series& series) {
  return series.name.empty() ? std::string() : series.name + ", " + to_string(series.origin);
}

std::string full_note(const Plot& plot) {
  int lost = 0, outside = 0;
  for (const Series& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      const bool unknown = std::isnan(point.x) || std::isnan(point.y);
      if (unknown) continue;
      if (!is_drawable(plot.x, point.x) || !is_drawable(plot.y, point.y)) {
        ++lost;
      } else {
        outside += beyond(plot.y, point.y) | beyond(plot.x, point.x);
      }
    }
  }
  std::string text = plot.note;
  const auto add = [&text](int count, const char* one, const char* many) {
    if (count == 0) return;
    text += (text.empty() ? "" : " ") + std::to_string(count) + (count == 1 ? one : many);
  };
  add(lost, " point is not positive: the logarithmic axis cannot show it.",
      " points are not positive: the logarithmic axis cannot show them.");
  add(outside, " point lies beyond the axes, drawn as an arrow at the edge.",
      " points lie beyond the axes, drawn as arrows at the edge.");
  return text;
}

const char* colour_of(int look) {
  static constexpr std::array<const char*, kColours> colours = {
      "#2c7fd1", "#cf6a10", "#2a9458", "#c0478f", "#8a63d2", "#12909f", "#d14343", "#8a7d12"};
  return colours[static_cast<std::size_t>(look % kColours)];
}

int mark_of(int look) {
  return (look + look / kColours) % kMarks;
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
