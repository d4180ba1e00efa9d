#pragma once

#include <string>
#include <string_view>

#include "scalecalc/plot.hpp"

/// The parts of an SVG that stands alone or in a page.
namespace scalecalc::report {

constexpr double kSvgWidth = 760;

/// Text of elements and attributes; what XML cannot hold becomes '?'.
std::string escape_xml(std::string_view text);

/// Pixels that a text is at most wide, by the widest of the usual fonts.
double text_width(std::string_view text, double size);
/// The text, or its beginning and "..." where it is wider than that.
std::string shortened_to(const std::string& text, double width, double size);

/// Room beside the drawing, for the labels and the legend.
struct Margins {
  double left = 0, right = 0;
};
Margins margins_of(const Plot& plot);

/// One panel's content below `top`, without the <svg> around it; `height` becomes what it takes.
std::string draw_panel(const Plot& plot, double top, const Margins& margins, double& height);

}  // namespace scalecalc::report
