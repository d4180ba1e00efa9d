#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Text in an image whose fonts are not known: widths are those of DejaVu Sans, one of the widest.
namespace scalecalc::report {

constexpr double kTitleSize = 14, kTextSize = 12, kSmallSize = 11;  // pixels
constexpr double kLineHeight = 17;
/// How much wider bold text is.
constexpr double kBold = 1.2;

/// Pixels that a text is at most wide.
double text_width(std::string_view text, double size);
/// The words in lines of at most `width` pixels; a word that is wider is broken. At least one line.
std::vector<std::string> lines_within(const std::string& text, double width, double size);
/// The text, or its beginning and "..." where it is wider than that.
std::string shortened_to(const std::string& text, double width, double size);
/// An integer in raised digits: "⁻¹²".
std::string superscript(int number);

struct Lettering {
  const char* anchor = "start";
  double size = kTextSize;
  bool bold = false;
  bool upright = false;  ///< turned by a quarter, to be read from below
};
/// Lines of text as elements of an SVG: the first one's base line at (x, y).
std::string draw_lines(const std::vector<std::string>& lines, double x, double y,
                       const Lettering& how);

}  // namespace scalecalc::report
