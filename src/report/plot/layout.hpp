#pragma once

#include <string>
#include <vector>

#include "report/plot/frame.hpp"

/// Where the parts of a panel lie, in pixels of the image.
namespace scalecalc::report {

constexpr double kSvgWidth = 760, kGap = 12;
constexpr double kSample = 30;  // of a legend's line, with the gap behind it

/// What is predicted and what is measured of one thing share an entry: a line and a mark.
struct LegendEntry {
  const Series* line = nullptr;
  const Series* mark = nullptr;
  std::vector<std::string> text;
  double left = 0, top = 0;
};

/// Entries in columns as wide as the widest of them, row by row.
struct Legend {
  std::vector<LegendEntry> entries;
  double height = 0;
};

/// From top to bottom: title, legend, the drawing within its axes, the label of x, the note.
class Layout {
 public:
  /// `left` pixels for the labels of y. The plot must outlive this.
  Layout(const Plot& plot, double top, double left);

  double x(double value) const { return left + (right - left) * share(plot_.x, x_range_, value); }
  /// The middle of a tick's label, which stays within the image.
  double label_x(const Tick& tick) const;
  /// At the edge where the value lies beyond it.
  double y(double value) const;
  /// Beyond the edge, where a line leads to it.
  double y_of_line(double value) const;

  double left = 0, right = 0, top = 0, bottom = 0;
  std::vector<std::string> title, x_label, y_label, note;
  double title_top = 0, x_label_top = 0, note_top = 0, end = 0;
  Legend legend;
  std::vector<Tick> x_ticks, y_ticks;
  std::vector<double> x_minor, y_minor;

 private:
  double share(const Axis& axis, const Range& range, double value) const;
  double place_text(double from);
  void place_ticks();

  const Plot& plot_;
  Range x_range_, y_range_;
};

/// Pixels that the labels of y need.
double left_margin(const Plot& plot);

}  // namespace scalecalc::report
