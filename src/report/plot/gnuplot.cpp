#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/plot/frame.hpp"
#include "report/text.hpp"

namespace scalecalc::report {
namespace {

constexpr int kWidth = 900, kPanel = 380, kNoteWidth = 120, kTitleWidth = 90;

/// Between single quotes nothing is substituted; a quote is written twice.
std::string quoted(const std::string& text) {
  std::string line = "'";
  for (const char c : single_line(text)) line += c == '\'' ? std::string("''") : std::string(1, c);
  return line + "'";
}

/// Joined by line breaks, which alone stand between double quotes.
std::string quoted_lines(const std::string& text) {
  std::string lines;
  for (const std::string& line : wrap(text, kTitleWidth)) {
    lines += (lines.empty() ? "" : ".\"\\n\".") + quoted(line);
  }
  return lines;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "1e300" : "-1e300";
  return shortest(value);
}

std::string block_name(std::size_t panel, std::size_t series) {
  return fmt::format("$panel{}_series{}", panel, series);
}

/// "x y error" a line; an empty line breaks the curve.
std::string data_of(const Plot& plot, const Series& series) {
  std::string text;
  for (const PlotPoint& point : series.points) {
    const bool drawn =
        std::isfinite(point.x) && is_drawable(plot.x, point.x) && is_drawable(plot.y, point.y);
    if (!drawn) {
      text += "\n";
      continue;
    }
    const double error = std::isfinite(point.error) ? std::max(point.error, 0.0) : 0;
    text += fmt::format("{} {} {}\n", number(point.x), number(point.y), number(error));
  }
  return text;
}

/// "x least most" a line of the band about the line; empty where there is none.
std::string band_of(const Plot& plot, const Series& series) {
  const Range range = range_of_y(plot);
  std::string text;
  bool has_any = false;
  for (const PlotPoint& point : series.points) {
    const bool drawn = point.has_band() && std::isfinite(point.x) && is_drawable(plot.x, point.x) &&
                       is_drawable(plot.y, point.most);
    has_any = has_any || drawn;
    text += drawn ? fmt::format("{} {} {}\n", number(point.x),
                                number(std::clamp(point.least, range.least, range.most)),
                                number(std::clamp(point.most, range.least, range.most)))
                  : "\n";
  }
  return has_any ? text : std::string();
}

/// Arrows at the edge for what lies beyond the axis; empty where nothing does.
std::string arrows_of(const Plot& plot, const Series& series, bool up) {
  if (series.origin != Origin::measured) return {};
  const Range range = range_of_y(plot);
  std::string text;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const PlotPoint& point = series.points[i];
    const bool beyond = up ? is_above(plot.y, point.y) : is_below(plot.y, point.y);
    if (!beyond || !has_mark(series, i) || !std::isfinite(point.x) || !is_drawable(plot.x, point.x))
      continue;
    text += fmt::format("{} {}\n", number(point.x), number(up ? range.most : range.least));
  }
  return text;
}

/// As the marks of the SVG.
int point_type(int look) {
  static constexpr std::array<int, kMarks> types = {7, 4, 9, 12, 1, 2, 11, 6};
  return types[static_cast<std::size_t>(mark_of(look))];
}

std::string dash_type(const Series& series) {
  const std::vector<int>& lengths = dashes_of(series);
  if (lengths.empty()) return "dt solid";
  std::string list;
  for (const int length : lengths) list += (list.empty() ? "" : ",") + std::to_string(2 * length);
  return "dt (" + list + ")";
}

std::string style_of(const Series& series) {
  const std::string colour = fmt::format("lc rgb '{}'", colour_of(series.look));
  if (series.origin != Origin::measured) {
    return fmt::format("with lines lw 2 {} {}", colour, dash_type(series));
  }
  const std::string marks = fmt::format("pt {} ps 0.9 {}", point_type(series.look), colour);
  if (!series.joined) return fmt::format("using 1:2:3 with yerrorbars {}", marks);
  if (std::ranges::any_of(series.points, [](const PlotPoint& point) { return point.error > 0; })) {
    return fmt::format("using 1:2:3 with yerrorlines lw 1 {}", marks);
  }
  return fmt::format("using 1:2 with linespoints pi {} lw 1 {}",
                     std::max<std::size_t>(series.points.size() / 12, 1), marks);
}

std::string ticks_text(char axis, const std::vector<Tick>& ticks) {
  std::string list;
  for (const Tick& tick : ticks) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", quoted(tick.label), number(tick.at));
  }
  return fmt::format("set {}tics ({})\n", axis, list);
}

/// So many that their labels do not touch.
std::string ticks_line(char axis, const Axis& of, const Range& range) {
  std::size_t longest = 8;
  for (const std::string& name : of.names) longest = std::max(longest, name.size());
  return ticks_text(axis, ticks_of(of, range, std::max(80 / static_cast<int>(longest + 2), 2)));
}

std::string axis_lines(char axis, const Axis& of, const Range& range) {
  return fmt::format("set {0}label {1}\n{2}set {0}range [{3}:{4}]\n", axis, quoted(axis_text(of)),
                     is_log(of) ? fmt::format("set logscale {}\n", axis)
                                : fmt::format("unset logscale {}\n", axis),
                     number(range.least), number(range.most)) +
         ticks_line(axis, of, range);
}

std::string panel_text(const Plot& plot, std::size_t panel) {
  std::string text = fmt::format("\nset title {}\n", quoted_lines(plot.title));
  text += axis_lines('x', plot.x, range_of_x(plot)) + axis_lines('y', plot.y, range_of_y(plot));
  const std::string note = full_note(plot);
  text += "unset label\n";
  if (!note.empty()) {
    double below = -0.28;
    for (const std::string& line : wrap(note, kNoteWidth)) {
      text += fmt::format("set label {} at graph 0, graph {:.2f}\n", quoted(line), below);
      below -= 0.07;
    }
  }
  std::string list;
  const auto add = [&list](const std::string& block, const std::string& style,
                           const std::string& title) {
    list += fmt::format("{}  {} {} {}", list.empty() ? "" : ", \\\n", block, style,
                        title.empty() ? "notitle" : "title " + quoted(title));
  };
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    const std::string block = block_name(panel, i);
    if (data_of(plot, series).find_first_not_of('\n') == std::string::npos) continue;
    if (!band_of(plot, series).empty())
      add(block + "_band",
          fmt::format("using 1:2:3 with filledcurves fs transparent solid {} noborder lc rgb '{}'",
                      kBandOpacity, colour_of(series.look)),
          "");
    add(block, style_of(series), legend_text(series));
    for (const bool up : {true, false}) {
      if (arrows_of(plot, series, up).empty()) continue;
      add(block + (up ? "_above" : "_below"),
          fmt::format("using 1:2:('{}') with labels offset 0,{} tc rgb '{}'", up ? "↑" : "↓",
                      up ? "-0.5" : "0.5", colour_of(series.look)),
          "");
    }
  }
  return text + "plot \\\n" + (list.empty() ? "  NaN title 'nothing to draw'" : list) + "\n";
}

}  // namespace

std::string to_gnuplot(const Figure& figure) {
  std::string text = "# gnuplot -c THIS.gp OUT.png, or OUT.svg\n";
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel) {
    const Plot& plot = figure.panels[panel];
    for (std::size_t i = 0; i < plot.series.size(); ++i) {
      const auto add = [&](const char* suffix, const std::string& data) {
        text += fmt::format("{}{} << END\n{}END\n", block_name(panel, i), suffix, data);
      };
      const Series& series = plot.series[i];
      add("", data_of(plot, series));
      const std::string band = band_of(plot, series);
      const std::string above = arrows_of(plot, series, true);
      const std::string below = arrows_of(plot, series, false);
      if (!band.empty()) add("_band", band);
      if (!above.empty()) add("_above", above);
      if (!below.empty()) add("_below", below);
    }
  }
  const std::size_t panels = std::max<std::size_t>(figure.panels.size(), 1);
  const std::string size = fmt::format("size {},{}", kWidth, kPanel * static_cast<int>(panels));
  text += fmt::format(
      "if (exists('ARG1') && strlen(ARG1) > 0) {{\n"
      "  if (strlen(ARG1) > 4 && ARG1[strlen(ARG1)-3:] eq '.svg') {{\n"
      "    set terminal svg {0} background rgb 'white' font 'sans,12'\n"
      "  }} else {{\n    set terminal pngcairo {0} font 'sans,10'\n  }}\n"
      "  set output ARG1\n}}\n",
      size);
  text +=
      "set encoding utf8\nset termoption noenhanced\nset datafile missing 'NaN'\nset grid lw 1 lc "
      "rgb '#cccccc' dt solid\n"
      "set key outside right top Left reverse samplen 3\nset bmargin 7\n";
  text += fmt::format("set multiplot layout {},1", panels);
  if (!figure.title.empty()) text += fmt::format(" title {}", quoted_lines(figure.title));
  text += "\n";
  for (std::size_t panel = 0; panel < figure.panels.size(); ++panel) {
    text += panel_text(figure.panels[panel], panel);
  }
  return text + "unset multiplot\nunset output\n";
}

}  // namespace scalecalc::report
