#pragma once

#include <string>

/// Marks of measured points as SVG paths.
namespace scalecalc::report {

/// Draws mark `mark` (0 .. kMarks - 1) around a point, in SVG's units.
std::string mark_path(int mark, double x, double y);
/// Filled, or an outline.
bool is_filled(int mark);
/// A value beyond the axis: an arrow that ends at its edge, unlike any mark.
std::string arrow_path(double x, double edge, bool up);

}  // namespace scalecalc::report
