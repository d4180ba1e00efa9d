#include <fmt/format.h>

#include "report/plot/curves.hpp"
#include "report/plot/layout.hpp"
#include "report/plot/lettering.hpp"
#include "report/plot/svg.hpp"

namespace scalecalc::report {
namespace {

constexpr double kMinorTick = 4;

std::string draw_ticks(const Layout& layout) {
  std::string grid, small, labels;
  for (const Tick& tick : layout.x_ticks) {
    const double x = layout.x(tick.at);
    grid += fmt::format("M{:.1f} {:.1f}V{:.1f}", x, layout.top, layout.bottom);
    labels +=
        draw_lines({tick.label}, layout.label_x(tick), layout.bottom + 16, {"middle", kSmallSize});
  }
  for (const Tick& tick : layout.y_ticks) {
    const double y = layout.y(tick.at);
    grid += fmt::format("M{:.1f} {:.1f}H{:.1f}", layout.left, y, layout.right);
    labels += draw_lines({tick.label}, layout.left - 6, y + 4, {"end", kSmallSize});
  }
  for (const double at : layout.x_minor)
    small += fmt::format("M{:.1f} {:.1f}v-{}", layout.x(at), layout.bottom, kMinorTick);
  for (const double at : layout.y_minor)
    small += fmt::format("M{:.1f} {:.1f}h{}", layout.left, layout.y(at), kMinorTick);
  static constexpr char kStroke[] = "fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"{}\"";
  return path(grid, fmt::format(kStroke, 0.14)) + path(small, fmt::format(kStroke, 0.6)) + labels;
}

std::string draw_axes(const Layout& layout) {
  const double middle = (layout.left + layout.right) / 2;
  return draw_ticks(layout) +
         fmt::format(
             "<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
             "height=\"{:.1f}\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.6\"/>\n",
             layout.left, layout.top, layout.right - layout.left, layout.bottom - layout.top) +
         draw_lines(layout.x_label, middle, layout.x_label_top, {"middle"}) +
         draw_lines(layout.y_label, kGap + kTextSize, (layout.top + layout.bottom) / 2,
                    {.anchor = "middle", .upright = true});
}

}  // namespace

std::string path(const std::string& commands, const std::string& look) {
  return commands.empty() ? std::string() : "<path d=\"" + commands + "\" " + look + "/>\n";
}

std::string draw_panel(const Plot& plot, double top, double left, double& height) {
  const Layout layout(plot, top, left);
  std::string svg =
      draw_lines(layout.title, kSvgWidth / 2, layout.title_top, {"middle", kTitleSize, true});
  svg += draw_legend(layout) + draw_axes(layout) + draw_series(plot, layout);
  if (!has_points(plot)) {
    svg += draw_lines({"nothing to draw"}, (layout.left + layout.right) / 2,
                      (layout.top + layout.bottom) / 2, {"middle"});
  }
  svg += draw_lines(layout.note, layout.left, layout.note_top, {"start", kSmallSize});
  height = layout.end - top;
  return svg;
}

}  // namespace scalecalc::report
