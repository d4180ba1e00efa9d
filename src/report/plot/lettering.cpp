#include "report/plot/lettering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/plot/svg.hpp"
#include "report/text.hpp"

namespace scalecalc::report {
namespace {

constexpr std::array<std::string_view, 10> kRaisedDigits = {"⁰", "¹", "²", "³", "⁴",
                                                            "⁵", "⁶", "⁷", "⁸", "⁹"};
constexpr std::string_view kRaisedMinus = "⁻";

/// Characters and the widest one's share of the size.
struct WidthClass {
  std::string_view characters;
  double width;
};
constexpr WidthClass kClasses[] = {
    {" ',.IJijl", 0.33},      {"!()-/:;[\\]frt|", 0.42}, {"\"*?L_`csz", 0.56},
    {"&ABCDGHNOQRUVXZ", 0.8}, {"#+<=>M^w~", 0.88},       {"%@Wm", 1.01},
};
constexpr double kOrdinary = 0.66;  // digits and most letters
constexpr double kRaised = 0.53;
constexpr double kForeign = 1.01;

double share_of(std::string_view character) {
  if (character.size() > 1) {
    const bool raised = character == kRaisedMinus ||
                        std::ranges::find(kRaisedDigits, character) != kRaisedDigits.end();
    return raised ? kRaised : kForeign;
  }
  for (const WidthClass& one : kClasses) {
    if (one.characters.find(character) != std::string_view::npos) return one.width;
  }
  return kOrdinary;
}

}  // namespace

double text_width(std::string_view text, double size) {
  double width = 0;
  while (!text.empty()) {
    const std::string_view character = cut_to_width(text, 1);
    width += size * share_of(character);
    text.remove_prefix(character.size());
  }
  return width;
}

std::vector<std::string> lines_within(const std::string& text, double width, double size) {
  const std::string whole = single_line(text);
  std::string_view rest = whole;
  std::vector<std::string> lines;
  std::string line;
  const auto end_line = [&] {
    if (!line.empty()) lines.push_back(std::move(line));
    line.clear();
  };
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (text_width(line, size) + text_width(word, size) + text_width(" ", size) > width) end_line();
    if (!line.empty() && !word.empty()) line += ' ';
    for (; !word.empty(); word.remove_prefix(cut_to_width(word, 1).size())) {
      const std::string_view character = cut_to_width(word, 1);
      if (text_width(line, size) + text_width(character, size) > width) end_line();
      line += character;
    }
  }
  end_line();
  if (lines.empty()) lines.emplace_back();
  return lines;
}

std::string shortened_to(const std::string& text, double width, double size) {
  if (text_width(text, size) <= width) return text;
  return lines_within(text, width - text_width("...", size), size).front() + "...";
}

std::string superscript(int number) {
  std::string text;
  for (const char c : std::to_string(number)) {
    text += c == '-' ? kRaisedMinus : kRaisedDigits[static_cast<std::size_t>(c - '0')];
  }
  return text;
}

std::string draw_lines(const std::vector<std::string>& lines, double x, double y,
                       const Lettering& how) {
  std::string svg;
  for (const std::string& line : lines) {
    svg += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\" "
        "fill=\"currentColor\"{}{}>{}</text>\n",
        x, y, how.anchor, how.size, how.bold ? " font-weight=\"bold\"" : "",
        how.upright ? fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", x, y) : "",
        escape_xml(line));
    (how.upright ? x : y) += kLineHeight;
  }
  return svg;
}

}  // namespace scalecalc::report
