#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scalecalc/plot.hpp"

/// What the writers of plots share: ranges, ticks, looks.
namespace scalecalc::report {

struct Range {
  double least = 0, most = 1;
};

struct Tick {
  double at = 0;
  std::string label;
};

/// Values are shown by their logarithm: names of places are not.
bool is_log(const Axis& axis);
/// A figure's value can be drawn on the axis (an infinity at its edge).
bool is_drawable(const Axis& axis, double value);
/// Beyond the axis' limits; an infinity always is.
bool is_above(const Axis& axis, double value);
bool is_below(const Axis& axis, double value);
/// Of everything drawable on that axis, with a margin; [0, 1] or [1, 10] where there is nothing.
Range range_of_x(const Plot& plot);
Range range_of_y(const Plot& plot);
/// About `most` labels at even steps within the range, or of the axis' own places every so many.
std::vector<Tick> ticks_of(const Axis& axis, const Range& range, int most);
/// Between powers of ten, without labels; none where these are many.
std::vector<double> minor_ticks(const Axis& axis, const Range& range);
/// "gradient norm (nats)".
std::string axis_text(const Axis& axis);
/// "pre, predicted"; empty for a series that is not listed.
std::string legend_text(const Series& series);

constexpr int kColours = 8, kMarks = 8, kDashes = 6;
/// Of bands, so that those of several series show through each other.
constexpr double kBandOpacity = 0.18;
/// Readable on white and on near black.
const char* colour_of(int look);
int mark_of(int look);
/// Marks of a line are few, and not at the same places as those of the next.
bool has_mark(const Series& series, std::size_t index);
/// Lengths of dashes and gaps; empty for a solid line.
const std::vector<int>& dashes_of(const Series& series);

}  // namespace scalecalc::report
