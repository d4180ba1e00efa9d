#pragma once

#include <string>

#include "report/plot/layout.hpp"

/// Lines, marks and error bars as elements of an SVG.
namespace scalecalc::report {

std::string draw_series(const Plot& plot, const Layout& layout);
/// The samples and the text of a legend's entries.
std::string draw_legend(const Layout& layout);
/// Whether a series has a point within or beyond the axes.
bool has_points(const Plot& plot);

}  // namespace scalecalc::report
