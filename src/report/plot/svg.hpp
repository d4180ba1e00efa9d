#pragma once

#include <string>
#include <string_view>

#include "scalecalc/plot.hpp"

/// The parts of an SVG that stands alone or in a page.
namespace scalecalc::report {

/// Text of elements and attributes; what XML cannot hold becomes '?'.
std::string escape_xml(std::string_view text);

/// A path of these commands; nothing where there are none.
std::string path(const std::string& commands, const std::string& look);

/// One panel's content below `top`, without the <svg> around it, with `left` pixels for the labels
/// of y; `height` becomes what it takes.
std::string draw_panel(const Plot& plot, double top, double left, double& height);

}  // namespace scalecalc::report
