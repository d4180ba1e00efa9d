#pragma once

#include <string>

/// The program's own drawing, an SVG, in other formats: rsvg-convert draws it.
namespace scalecalc::cli {

enum class ImageFormat { png, pdf };

/// Throws Error(fault) where there is no rsvg-convert.
void check_svg_converter();
/// Throws Error(fault) with what rsvg-convert says. A PNG has two pixels for one of the SVG.
std::string converted(const std::string& svg, ImageFormat format);

}  // namespace scalecalc::cli
