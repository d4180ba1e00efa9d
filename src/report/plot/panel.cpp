#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "report/plot/frame.hpp"
#include "report/plot/marks.hpp"
#include "report/plot/svg.hpp"
#include "report/text.hpp"

namespace scalecalc::report {
namespace {

constexpr double kEm = 0.65;  // of a size: the mean width of a character
constexpr double kText = 12, kSmall = 11;
constexpr double kLine = 17;    // between entries of the legend, and lines of the note
constexpr double kSample = 30;  // of a legend's line
constexpr double kArea = 240;   // least height of the drawing
constexpr double kGap = 12;
constexpr double kWidestLegend = 250;
constexpr double kBarHalf = 3;  // of an error bar's ends
constexpr std::size_t kMarksOfCurve = 12;

struct Pixel {
  double x = 0, y = 0;
};

double height_of(const Plot& plot) {
  const auto entries =
      std::ranges::count_if(plot.series, [](const Series& series) { return !series.name.empty(); });
  return std::max(kArea, static_cast<double>(entries) * kLine + 4);
}

std::vector<Tick> y_ticks_of(const Plot& plot) {
  return ticks_of(plot.y, range_of_y(plot), static_cast<int>(height_of(plot) / 40));
}

/// Where values come to lie, and the room around them.
class Layout {
 public:
  Layout(const Plot& plot, double top, const Margins& margins)
      : plot_(plot), x_range_(range_of_x(plot)), y_range_(range_of_y(plot)) {
    const double area = height_of(plot);
    y_ticks = y_ticks_of(plot);
    left = margins.left;
    right = kSvgWidth - margins.right;
    this->top = top + 34;
    bottom = this->top + area;
    x_ticks = fitting(ticks_of(plot.x, x_range_, static_cast<int>((right - left) / 70)));
  }

  double x(double value) const { return left + (right - left) * share(plot_.x, x_range_, value); }
  double y(double value) const { return bottom - (bottom - top) * share(plot_.y, y_range_, value); }
  double legend_left() const { return right + kGap; }
  bool is_above(double value) const {
    return value > std::min(plot_.y.most, std::numeric_limits<double>::max());
  }
  bool is_below(double value) const {
    return value < std::max(plot_.y.least, std::numeric_limits<double>::lowest());
  }

  double left = 0, right = 0, top = 0, bottom = 0;
  std::vector<Tick> x_ticks, y_ticks;

 private:
  static double share(const Axis& axis, const Range& range, double value) {
    double part = (value - range.least) / (range.most - range.least);
    if (axis.scale == AxisScale::logarithmic && axis.names.empty()) {
      part = (std::log(value) - std::log(range.least)) /
             (std::log(range.most) - std::log(range.least));
    }
    return std::clamp(part, 0.0, 1.0);
  }

  /// Those whose labels do not touch: the first, the last, and as many between as there is room.
  std::vector<Tick> fitting(const std::vector<Tick>& all) const {
    const auto touches = [this](const Tick& a, const Tick& b) {
      const double widths = (text_width(a.label, kSmall) + text_width(b.label, kSmall)) / 2;
      return std::abs(x(a.at) - x(b.at)) < widths + 8;
    };
    for (std::size_t stride = 1; stride < all.size(); ++stride) {
      std::vector<Tick> kept;
      for (std::size_t i = 0; i < all.size(); i += stride) kept.push_back(all[i]);
      bool clear = true;
      for (std::size_t i = 1; i < kept.size(); ++i) clear = clear && !touches(kept[i - 1], kept[i]);
      if (!clear) continue;
      if (kept.back().at == all.back().at) return kept;
      while (kept.size() > 1 && touches(kept.back(), all.back())) kept.pop_back();
      if (!touches(kept.back(), all.back())) kept.push_back(all.back());
      return kept;
    }
    return all.empty() ? all : std::vector<Tick>{all.front()};
  }

  const Plot& plot_;
  Range x_range_, y_range_;
};

std::string text_at(double x, double y, const char* anchor, double size, const std::string& text,
                    const char* more = "") {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\" "
      "fill=\"currentColor\"{}>{}</text>\n",
      x, y, anchor, size, more, escape_xml(text));
}

std::string path(const std::string& commands, const std::string& look) {
  return commands.empty() ? std::string() : "<path d=\"" + commands + "\" " + look + "/>\n";
}

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
    const Pixel pixel{layout.x(point.x), layout.y(point.y)};
    if (!column.empty() && std::floor(pixel.x) != std::floor(column.back().x)) flush();
    column.push_back(pixel);
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

std::string stroke(const Series& series, double width) {
  return fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}", colour_of(series.look),
                     width, dash_attribute(series));
}

std::string mark_look(const Series& series) {
  const char* colour = colour_of(series.look);
  return fmt::format("fill=\"{}\" stroke=\"{}\" stroke-width=\"1.4\"",
                     is_filled(mark_of(series.look)) ? colour : "none", colour);
}

/// Marks of a line are few, and not at the same places as those of the next.
bool has_mark(const Series& series, std::size_t index) {
  const std::size_t count = series.points.size();
  if (!series.joined || count <= kMarksOfCurve) return true;
  const std::size_t stride = count / kMarksOfCurve;
  return (index + static_cast<std::size_t>(series.look) * stride / 4) % stride == 0;
}

std::string draw_marks(const Plot& plot, const Series& series, const Layout& layout) {
  std::string marks, bars;
  std::set<std::pair<int, int>> taken;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const PlotPoint& point = series.points[i];
    if (!is_shown(plot, point) || !has_mark(series, i)) continue;
    const double x = layout.x(point.x), y = layout.y(point.y);
    if (!taken.emplace(static_cast<int>(x), static_cast<int>(y)).second) continue;
    if (layout.is_above(point.y) || layout.is_below(point.y)) {
      marks += arrow_path(x, y, layout.is_above(point.y));
      continue;
    }
    marks += mark_path(mark_of(series.look), x, y);
    if (!std::isfinite(point.error) || point.error <= 0) continue;
    const double high = layout.y(point.y + point.error);
    const double below = point.y - point.error;
    const double low = is_drawable(plot.y, below) ? layout.y(below) : layout.bottom;
    bars += fmt::format("M{0:.1f} {1:.1f}V{2:.1f}m-{3} 0h{4}M{5:.1f} {1:.1f}h{4}", x, high, low,
                        kBarHalf, 2 * kBarHalf, x - kBarHalf);
  }
  return path(bars, fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.2\"",
                                colour_of(series.look))) +
         path(marks, mark_look(series));
}

std::string draw_series(const Plot& plot, const Series& series, const Layout& layout) {
  const bool marked = series.origin == Origin::measured;
  std::string svg;
  if (!marked || series.joined) {
    svg += path(line_through(plot, series, layout), stroke(series, marked ? 1 : 1.8));
  }
  return marked ? svg + draw_marks(plot, series, layout) : svg;
}

std::string draw_axes(const Plot& plot, const Layout& layout) {
  std::string grid, svg;
  for (const Tick& tick : layout.x_ticks) {
    const double x = layout.x(tick.at);
    grid += fmt::format("M{:.1f} {:.1f}V{:.1f}", x, layout.top, layout.bottom);
    svg += text_at(x, layout.bottom + 16, "middle", kSmall, tick.label);
  }
  for (const Tick& tick : layout.y_ticks) {
    const double y = layout.y(tick.at);
    grid += fmt::format("M{:.1f} {:.1f}H{:.1f}", layout.left, y, layout.right);
    svg += text_at(layout.left - 6, y + 4, "end", kSmall, tick.label);
  }
  const double middle = (layout.top + layout.bottom) / 2;
  const double x = kGap + kText;
  const std::string turned = fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", x, middle);
  return path(grid, "fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.14\"") +
         fmt::format(
             "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
             "fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.6\"/>\n",
             layout.left, layout.top, layout.right - layout.left, layout.bottom - layout.top) +
         svg +
         text_at((layout.left + layout.right) / 2, layout.bottom + 35, "middle", kText,
                 shortened_to(axis_text(plot.x), layout.right - layout.left, kText)) +
         text_at(x, middle, "middle", kText,
                 shortened_to(axis_text(plot.y), layout.bottom - layout.top + 30, kText),
                 turned.c_str());
}

std::string draw_legend(const Plot& plot, const Layout& layout) {
  std::string svg;
  double y = layout.top + 8;
  const double x = layout.legend_left(), middle = x + (kSample - 6) / 2;
  for (const Series& series : plot.series) {
    if (series.name.empty()) continue;
    const bool marked = series.origin == Origin::measured;
    if (!marked || series.joined) {
      svg += path(fmt::format("M{:.1f} {:.1f}h{}", x, y, kSample - 6),
                  stroke(series, marked ? 1 : 1.8));
    }
    if (marked) svg += path(mark_path(mark_of(series.look), middle, y), mark_look(series));
    svg += text_at(x + kSample, y + 4, "start", kText,
                   shortened_to(legend_text(series), kWidestLegend, kText));
    y += kLine;
  }
  return svg;
}

bool is_empty(const Plot& plot) {
  for (const Series& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      if (is_shown(plot, point)) return false;
    }
  }
  return true;
}

}  // namespace

double text_width(std::string_view text, double size) {
  return kEm * size * display_width(text);
}

std::string shortened_to(const std::string& text, double width, double size) {
  const int most = static_cast<int>(width / (kEm * size));
  if (display_width(text) <= most) return text;
  return std::string(cut_to_width(text, std::max(most - 3, 1))) + "...";
}

Margins margins_of(const Plot& plot) {
  double label = 0, legend = 0;
  for (const Tick& tick : y_ticks_of(plot)) {
    label = std::max(label, text_width(tick.label, kSmall));
  }
  for (const Series& series : plot.series) {
    legend = std::max(legend, text_width(legend_text(series), kText));
  }
  Margins margins;
  margins.left = kGap + kText + kGap + label + 6;
  margins.right = kGap + (legend > 0 ? std::min(legend, kWidestLegend) + kSample + 6 + kGap : 8);
  return margins;
}

std::string draw_panel(const Plot& plot, double top, const Margins& margins, double& height) {
  const Layout layout(plot, top, margins);
  std::string svg = text_at((layout.left + layout.right) / 2, top + 22, "middle", 14,
                            shortened_to(plot.title, layout.right - layout.left + 40, 14),
                            " font-weight=\"bold\"");
  svg += draw_axes(plot, layout);
  for (const Series& series : plot.series) svg += draw_series(plot, series, layout);
  svg += draw_legend(plot, layout);
  if (is_empty(plot)) {
    svg += text_at((layout.left + layout.right) / 2, (layout.top + layout.bottom) / 2, "middle",
                   kText, "nothing to draw");
  }
  double y = layout.bottom + 35;
  const std::string note = full_note(plot);
  if (!note.empty()) {
    const double room = kSvgWidth - layout.left - kGap;
    for (const std::string& line : wrap(note, static_cast<int>(room / (kEm * kSmall)))) {
      y += kLine;
      svg += text_at(layout.left, y, "start", kSmall, line);
    }
  }
  height = y + kGap - top;
  return svg;
}

}  // namespace scalecalc::report
