#include "report/plot/layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/plot/lettering.hpp"

namespace scalecalc::report {
namespace {

constexpr double kArea = 270;                   // least height of the drawing
constexpr double kLegends = 1.5;                // or so many heights of the legend
constexpr double kRightMargin = 24;             // half a label of x may lie in it
constexpr double kTickOfY = 40, kTickOfX = 70;  // pixels from one tick to the next, about
constexpr double kLongestName = 180;

int y_tick_count() {
  return static_cast<int>(kArea / kTickOfY);
}

LegendEntry* entry_of(std::vector<LegendEntry>& entries, const Series& series) {
  const auto found = std::ranges::find_if(entries, [&](const LegendEntry& entry) {
    const Series& other = entry.line != nullptr ? *entry.line : *entry.mark;
    const bool is_free = series.origin == Origin::measured ? entry.mark == nullptr && !series.joined
                                                           : entry.line == nullptr;
    return other.name == series.name && other.look == series.look && is_free;
  });
  return found == entries.end() ? nullptr : &*found;
}

std::vector<LegendEntry> entries_of(const Plot& plot) {
  std::vector<LegendEntry> entries;
  for (const Series& series : plot.series) {
    if (series.name.empty()) continue;
    LegendEntry* entry = entry_of(entries, series);
    if (entry == nullptr) entry = &entries.emplace_back();
    const bool marked = series.origin == Origin::measured;
    if (marked) entry->mark = &series;
    if (!marked || series.joined) entry->line = &series;
  }
  return entries;
}

std::string text_of(const LegendEntry& entry) {
  if (entry.line == nullptr || entry.mark == nullptr || entry.line == entry.mark) {
    return legend_text(entry.line != nullptr ? *entry.line : *entry.mark);
  }
  return legend_text(*entry.line) + " and " + to_string(entry.mark->origin);
}

/// The widths of so many columns that the entries fill row by row.
std::vector<double> column_widths(const std::vector<LegendEntry>& entries, std::size_t columns) {
  std::vector<double> widths(columns);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (const std::string& line : entries[i].text) {
      double& widest = widths[i % columns];
      widest = std::max(widest, kSample + text_width(line, kTextSize) + kGap);
    }
  }
  return widths;
}

/// In as many columns as there is room for.
Legend legend_of(const Plot& plot, double left, double width, double top) {
  Legend legend{entries_of(plot)};
  if (legend.entries.empty()) return legend;
  for (LegendEntry& entry : legend.entries) {
    entry.text = lines_within(text_of(entry), width - kSample, kTextSize);
  }
  std::vector<double> widths = column_widths(legend.entries, legend.entries.size());
  while (widths.size() > 1 && std::accumulate(widths.begin(), widths.end(), 0.0) > width + kGap) {
    widths = column_widths(legend.entries, widths.size() - 1);
  }
  for (std::size_t i = 0; i < legend.entries.size();) {
    double x = left;
    std::size_t lines = 0;
    for (std::size_t j = 0; j < widths.size() && i < legend.entries.size(); ++j, ++i) {
      legend.entries[i].left = x;
      legend.entries[i].top = top + legend.height;
      x += widths[j];
      lines = std::max(lines, legend.entries[i].text.size());
    }
    legend.height += kLineHeight * static_cast<double>(lines);
  }
  legend.height += kGap / 2;
  return legend;
}

}  // namespace

Layout::Layout(const Plot& plot, double from, double left_pixels)
    : left(left_pixels),
      right(kSvgWidth - kRightMargin),
      plot_(plot),
      x_range_(range_of_x(plot)),
      y_range_(range_of_y(plot)) {
  top = place_text(from);
  bottom = top + std::max(kArea, kLegends * legend.height);
  place_ticks();
  const auto below = [](double above, const std::vector<std::string>& lines) {
    return above + kLineHeight * static_cast<double>(lines.size());
  };
  x_label = lines_within(axis_text(plot.x), right - left, kTextSize);
  y_label = lines_within(axis_text(plot.y), kArea, kTextSize);
  x_label_top = bottom + 36;
  note_top = below(x_label_top, x_label) + 2;
  const std::string text = full_note(plot);
  if (!text.empty()) note = lines_within(text, right - left, kSmallSize);
  end = below(note_top, note) - kLineHeight + kGap;
}

/// The title and the legend; where the drawing begins.
double Layout::place_text(double from) {
  if (!plot_.title.empty()) {
    title = lines_within(plot_.title, (kSvgWidth - 2 * kGap) / kBold, kTitleSize);
  }
  title_top = from + 22;
  const double below = title_top + kLineHeight * static_cast<double>(title.size()) - 6;
  legend = legend_of(plot_, left, right - left, below);
  return below + legend.height;
}

void Layout::place_ticks() {
  y_ticks = ticks_of(plot_.y, y_range_, y_tick_count());
  y_minor = minor_ticks(plot_.y, y_range_);
  x_minor = minor_ticks(plot_.x.ticks.empty() ? plot_.x : Axis{}, x_range_);
  const auto touch = [this](const Tick& a, const Tick& b) {
    const double widths = text_width(a.label, kSmallSize) + text_width(b.label, kSmallSize);
    return std::abs(label_x(a) - label_x(b)) < widths / 2 + 8;
  };
  for (int most = static_cast<int>((right - left) / kTickOfX) + 2; most > 0; --most) {
    x_ticks = ticks_of(plot_.x, x_range_, most);
    for (Tick& tick : x_ticks) tick.label = shortened_to(tick.label, kLongestName, kSmallSize);
    if (std::ranges::adjacent_find(x_ticks, touch) == x_ticks.end()) return;
  }
}

double Layout::label_x(const Tick& tick) const {
  const double half = text_width(tick.label, kSmallSize) / 2 + 2;
  return std::clamp(x(tick.at), half, kSvgWidth - half);
}

double Layout::share(const Axis& axis, const Range& range, double value) const {
  if (!is_log(axis)) return (value - range.least) / (range.most - range.least);
  const double from = std::log(range.least);
  return (std::log(value) - from) / (std::log(range.most) - from);
}

double Layout::y(double value) const {
  return std::clamp(y_of_line(value), top, bottom);
}

double Layout::y_of_line(double value) const {
  constexpr double kFar = 1e5;
  const double height = bottom - top;
  return std::clamp(bottom - height * share(plot_.y, y_range_, value), top - kFar, bottom + kFar);
}

double left_margin(const Plot& plot) {
  double widest = 0;
  for (const Tick& tick : ticks_of(plot.y, range_of_y(plot), y_tick_count())) {
    widest = std::max(widest, text_width(tick.label, kSmallSize));
  }
  const auto lines = static_cast<double>(lines_within(axis_text(plot.y), kArea, kTextSize).size());
  return kGap + kLineHeight * lines + kGap + widest;
}

}  // namespace scalecalc::report
