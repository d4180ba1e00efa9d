#include "report/plot/svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/plot/layout.hpp"
#include "report/plot/lettering.hpp"
#include "report/text.hpp"

namespace scalecalc::report {
namespace {

/// Colours of a file that stands alone; in a page currentColor is the page's.
constexpr char kFileStyle[] =
    "<style>svg{color:#1b1f24}.paper{fill:#fff}@media (prefers-color-scheme:dark){"
    "svg{color:#dfe3e8}.paper{fill:#14171b}}</style>\n";

/// What a screen reader says: the title, the axes, and every series.
std::string description(const Plot& plot) {
  std::string text = plot.title + (plot.title.empty() ? "" : ". ") + axis_text(plot.y) +
                     " against " + axis_text(plot.x) + ".";
  for (const Series& series : plot.series) {
    if (!series.name.empty()) text += " " + legend_text(series) + ".";
  }
  const std::string note = full_note(plot);
  return note.empty() ? text : text + " " + note;
}

std::string opening(double height, const std::string& label, const char* more) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0} {1:.0f}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" "
      "role=\"img\" aria-label=\"{2}\"{3}>\n",
      kSvgWidth, height, escape_xml(label), more);
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string escaped;
  for (const char c : single_line(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string to_inline_svg(const Plot& plot) {
  double height = 0;
  const std::string body = draw_panel(plot, 0, left_margin(plot), height);
  return opening(height, description(plot), "") + body + "</svg>\n";
}

std::string to_svg(const Figure& figure) {
  constexpr double kSize = 15;
  std::string body, label = figure.title;
  double top = 0;
  if (!figure.title.empty()) {
    const auto lines = lines_within(figure.title, (kSvgWidth - 2 * kGap) / kBold, kSize);
    body = draw_lines(lines, kSvgWidth / 2, 22, {"middle", kSize, true});
    top = 17 + kLineHeight * static_cast<double>(lines.size());
  }
  // One above the other, the panels' drawings are as wide as each other.
  double left = 0;
  for (const Plot& plot : figure.panels) left = std::max(left, left_margin(plot));
  for (const Plot& plot : figure.panels) {
    double height = 0;
    body += draw_panel(plot, top, left, height);
    top += height;
    label += (label.empty() ? "" : label.ends_with('.') ? " " : ". ") + description(plot);
  }
  return opening(top, label, " color=\"#1b1f24\"") + kFileStyle +
         fmt::format("<rect class=\"paper\" width=\"{}\" height=\"{:.0f}\" fill=\"#fff\"/>\n",
                     kSvgWidth, top) +
         body + "</svg>\n";
}

}  // namespace scalecalc::report
