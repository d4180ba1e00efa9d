#include "report/plot/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "report/plot/lettering.hpp"
#include "report/plot/marks.hpp"
#include "report/plot/svg.hpp"

namespace scalecalc::report {
namespace {

constexpr double kBarHalf = 3;  // of an error bar's ends

struct Pixel {
  double x = 0, y = 0;
};

/// Where a point is drawn; a value that cannot be has no place.
bool is_shown(const Plot& plot, const PlotPoint& point) {
  return is_drawable(plot.x, point.x) && is_drawable(plot.y, point.y) && std::isfinite(point.x);
}

/// The line through the points, with gaps; of many points in one column of pixels only those that
/// enter, leave and reach farthest.
std::string line_through(const Plot& plot, const Series& series, const Layout& layout) {
  std::string commands;
  std::vector<Pixel> column;
  bool pen_down = false;
  const auto draw = [&](const Pixel& to) {
    commands += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", to.x, to.y);
    pen_down = true;
  };
  const auto flush = [&] {
    const auto by_height = [](const Pixel& a, const Pixel& b) { return a.y < b.y; };
    if (column.size() > 4) {
      const auto [low, high] = std::minmax_element(column.begin(), column.end(), by_height);
      const bool first_low = low < high;
      column = {column.front(), first_low ? *low : *high, first_low ? *high : *low, column.back()};
    }
    for (const Pixel& pixel : column) draw(pixel);
    column.clear();
  };
  for (const PlotPoint& point : series.points) {
    if (!is_shown(plot, point)) {
      flush();
      pen_down = false;
      continue;
    }
    const Pixel pixel{layout.x(point.x), layout.y_of_line(point.y)};
    if (!column.empty() && std::floor(pixel.x) != std::floor(column.back().x)) flush();
    column.push_back(pixel);
  }
  flush();
  return commands;
}

/// The areas between the ends of the points' bands, one a stretch without a gap; an end that a
/// logarithmic axis cannot show lies at the edge.
std::string band_of(const Plot& plot, const Series& series, const Layout& layout) {
  std::string commands;
  std::vector<Pixel> above, below;
  const auto flush = [&] {
    above.insert(above.end(), below.rbegin(), below.rend());
    for (std::size_t i = 0; above.size() > 2 && i < above.size(); ++i)
      commands += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", above[i].x, above[i].y);
    if (above.size() > 2) commands += "Z";
    above.clear();
    below.clear();
  };
  for (const PlotPoint& point : series.points) {
    if (!point.has_band() || !is_drawable(plot.x, point.x) || !is_drawable(plot.y, point.most)) {
      flush();
      continue;
    }
    const double x = layout.x(point.x);
    above.push_back({x, layout.y_of_line(point.most)});
    below.push_back(
        {x, is_drawable(plot.y, point.least) ? layout.y_of_line(point.least) : layout.bottom});
  }
  flush();
  return commands;
}

std::string dash_attribute(const Series& series) {
  std::string lengths;
  for (const int length : dashes_of(series)) {
    lengths += (lengths.empty() ? "" : " ") + std::to_string(length);
  }
  return lengths.empty() ? lengths : " stroke-dasharray=\"" + lengths + "\"";
}

std::string stroke_of(const Series& series, double width) {
  return fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"", colour_of(series.look),
                     width);
}

std::string mark_look(const Series& series) {
  const char* colour = colour_of(series.look);
  return fmt::format("fill=\"{}\" stroke=\"{}\" stroke-width=\"1.4\"",
                     is_filled(mark_of(series.look)) ? colour : "none", colour);
}

/// At the edge of the axis: of marks each that lies beyond, of a line where it leaves.
std::string arrows_of(const Plot& plot, const Series& series, const Layout& layout) {
  std::string arrows;
  std::set<std::pair<int, bool>> taken;
  bool was_beyond = false;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const PlotPoint& point = series.points[i];
    const bool above = is_above(plot.y, point.y);
    const bool beyond = is_shown(plot, point) && (above || is_below(plot.y, point.y));
    const bool drawn =
        beyond && (series.origin == Origin::measured ? has_mark(series, i) : !was_beyond);
    was_beyond = beyond;
    const double x = layout.x(point.x);
    if (!drawn || !taken.emplace(static_cast<int>(x), above).second) continue;
    arrows += arrow_path(x, above ? layout.top : layout.bottom, above);
  }
  return path(arrows, stroke_of(series, 1.4));
}

std::string error_bar(const Plot& plot, const PlotPoint& point, const Layout& layout) {
  if (!std::isfinite(point.error) || point.error <= 0) return {};
  const double x = layout.x(point.x), high = layout.y(point.y + point.error);
  const double below = point.y - point.error;
  const double low = is_drawable(plot.y, below) ? layout.y(below) : layout.bottom;
  return fmt::format("M{0:.1f} {1:.1f}V{2:.1f}m-{3} 0h{4}M{5:.1f} {1:.1f}h{4}", x, high, low,
                     kBarHalf, 2 * kBarHalf, x - kBarHalf);
}

std::string marks_of(const Plot& plot, const Series& series, const Layout& layout) {
  std::string marks, bars;
  std::set<std::pair<int, int>> taken;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const PlotPoint& point = series.points[i];
    if (!is_shown(plot, point) || !has_mark(series, i)) continue;
    if (is_above(plot.y, point.y) || is_below(plot.y, point.y)) continue;
    const double x = layout.x(point.x), y = layout.y(point.y);
    if (!taken.emplace(static_cast<int>(x), static_cast<int>(y)).second) continue;
    marks += mark_path(mark_of(series.look), x, y);
    bars += error_bar(plot, point, layout);
  }
  return path(bars, stroke_of(series, 1.2)) + path(marks, mark_look(series));
}

std::string line_stroke(const Series& series) {
  return stroke_of(series, series.origin == Origin::measured ? 1 : 1.8) + dash_attribute(series);
}

}  // namespace

std::string draw_series(const Plot& plot, const Layout& layout) {
  // An <svg> of its own cuts off what lies outside it.
  std::string svg = fmt::format(
      "<svg x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"{2:.1f}\" height=\"{3:.1f}\" "
      "viewBox=\"{0:.1f} {1:.1f} {2:.1f} {3:.1f}\">\n",
      layout.left, layout.top, layout.right - layout.left, layout.bottom - layout.top);
  for (const Series& series : plot.series)
    svg += path(band_of(plot, series, layout),
                fmt::format("fill=\"{}\" fill-opacity=\"{}\" stroke=\"none\"",
                            colour_of(series.look), kBandOpacity));
  for (const Series& series : plot.series) {
    if (series.origin == Origin::measured && !series.joined) continue;
    svg += path(line_through(plot, series, layout), line_stroke(series));
  }
  svg += "</svg>\n";
  for (const Series& series : plot.series) {
    if (series.origin == Origin::measured) svg += marks_of(plot, series, layout);
    svg += arrows_of(plot, series, layout);
  }
  return svg;
}

std::string draw_legend(const Layout& layout) {
  std::string svg = "<g class=\"legend\">\n";
  for (const LegendEntry& entry : layout.legend.entries) {
    const double y = entry.top + kLineHeight / 2, length = kSample - 6;
    if (entry.line != nullptr) {
      svg +=
          path(fmt::format("M{:.1f} {:.1f}h{}", entry.left, y, length), line_stroke(*entry.line));
    }
    if (entry.mark != nullptr) {
      svg += path(mark_path(mark_of(entry.mark->look), entry.left + length / 2, y),
                  mark_look(*entry.mark));
    }
    svg += draw_lines(entry.text, entry.left + kSample, y + 4, {});
  }
  return svg + "</g>\n";
}

bool has_points(const Plot& plot) {
  return std::ranges::any_of(plot.series, [&](const Series& series) {
    return std::ranges::any_of(series.points,
                               [&](const PlotPoint& point) { return is_shown(plot, point); });
  });
}

}  // namespace scalecalc::report
