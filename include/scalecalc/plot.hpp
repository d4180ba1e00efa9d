#pragma once

#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "scalecalc/report.hpp"

/// Plots as values, and one writer per form: a gnuplot script, SVG, a terminal's sparkline, a page.
/// Writers return text; nothing here writes or runs anything. A NaN breaks a line, and what a
/// logarithmic axis cannot show, which is counted in the plot's note.
namespace scalecalc::report {

struct Axis {
  std::string label;  ///< "gradient norm"
  std::string unit;   ///< "nats"; "pure number" where there is none
  AxisScale scale = AxisScale::linear;
  std::vector<std::string> names = {};  ///< of the values 0, 1, 2, ...; shown instead of numbers
  std::vector<double> ticks = {};       ///< values to label; empty: round numbers
  bool whole = false;                   ///< counts something: ticks at whole numbers
  /// What lies beyond is an arrow at the edge, and the note says whose and how far it goes.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

/// Where the numbers of a series come from; every legend says it.
enum class Origin { predicted, measured, fitted, exact };
std::string to_string(Origin origin);

struct PlotPoint {
  double x = 0, y = 0;
  double error = 0;  ///< a bar from y - error to y + error; 0 or NaN: none
  /// A band about the line reaches from one to the other, as over seeds; NaN: it has a gap.
  double least = std::numeric_limits<double>::quiet_NaN();
  double most = std::numeric_limits<double>::quiet_NaN();

  bool has_band() const { return least <= most; }
};

/// Predicted, fitted and exact series are lines; measured ones are marks with their error bars,
/// joined by a thin line where `joined`.
struct Series {
  std::string name;  ///< in the legend; empty: it looks as another one does, and is not listed
  Origin origin = Origin::measured;
  std::vector<PlotPoint> points = {};
  /// Colour, mark and dashes, from 0 on: what is predicted and what is measured of one thing share
  /// it. The first 24 differ, the first 6 without their colours too.
  int look = 0;
  bool joined = false;
};

struct Plot {
  std::string title;
  Axis x, y;
  std::vector<Series> series;
  std::string note;  ///< a sentence under it
};

/// Panels under each other, as one file.
struct Figure {
  std::string title;
  std::vector<Plot> panels;
};

/// Logarithmic for positive values over more than a factor of 30.
AxisScale fitting_scale(const std::vector<Series>& series);
/// Sets the limits of y so that one measured look, which alone makes the axis ten times as long as
/// the others need, leaves it: a run that explodes does not flatten the rest.
void let_outliers_leave(Plot& plot);
/// The note, and what the axes cannot show: "Beyond the axis, with an arrow at its edge: post (up
/// to 412).".
std::string full_note(const Plot& plot);

/// A script with its data inside. `gnuplot -c FILE.gp OUT.png` (or OUT.svg) draws it there; without
/// OUT the terminal of gnuplot's choice is used. No text of a plot is read as a command.
std::string to_gnuplot(const Figure& figure);
/// An image on its own: white, or dark where the reader prefers that.
std::string to_svg(const Figure& figure);
/// One panel as an element of a page, whose colour of text it takes.
std::string to_inline_svg(const Plot& plot);

/// At most `width` characters, of eight heights; from the smallest finite value to the largest.
/// More values than characters are averaged. A NaN is a blank, an infinity at the edge.
std::string sparkline(const std::vector<double>& values, int width, bool unicode,
                      AxisScale scale = AxisScale::linear);

/// One self-contained HTML page: no network, no script, light and dark, fit for print.
using PagePart = std::variant<Section, Plot>;
struct Page {
  std::string title;
  std::vector<PagePart> parts;
};
std::string to_html(const Page& page);

}  // namespace scalecalc::report
