#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/side_by_side/document.hpp"

namespace scalecalc::cli {
namespace {

using report::Plot;
using report::PlotPoint;
using report::Series;

constexpr int kLooks = 24;  // that differ, as Series has it

/// The same in all, or all of them.
template <class Text>
std::string joined(const std::vector<const Plot*>& panels, const Text& text_of,
                   const char* between) {
  std::vector<std::string> texts;
  for (const Plot* panel : panels) {
    const std::string text = text_of(*panel);
    if (!text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(text);
  }
  return fmt::format("{}", fmt::join(texts, between));
}

bool is_same(const Series& a, const Series& b) {
  const auto same_point = [](const PlotPoint& p, const PlotPoint& q) {
    return p.x == q.x && (p.y == q.y || (p.y != p.y && q.y != q.y));
  };
  return a.name == b.name &&
         std::equal(a.points.begin(), a.points.end(), b.points.begin(), b.points.end(), same_point);
}

/// Points at the places of this panel moved to those of all panels.
void move_places(const std::vector<std::string>& from, const std::vector<std::string>& to,
                 Series& series) {
  std::map<std::string, double> place;
  for (std::size_t i = 0; i < to.size(); ++i) place.emplace(to[i], static_cast<double>(i));
  for (PlotPoint& point : series.points) {
    const auto at = static_cast<std::size_t>(point.x);
    if (at < from.size()) point.x = place.at(from[at]);
  }
}

report::AxisScale scale_of(const std::vector<const Plot*>& panels,
                           const std::vector<Series>& series) {
  const bool any = std::any_of(panels.begin(), panels.end(), [](const Plot* panel) {
    return panel->y.scale == report::AxisScale::logarithmic;
  });
  bool positive = true;
  for (const Series& one : series)
    for (const PlotPoint& point : one.points) positive = positive && !(point.y <= 0);
  return any && positive ? report::AxisScale::logarithmic : report::fitting_scale(series);
}

/// What every run draws alike, as a density of its input, is drawn once under its own name.
void add_series(const std::vector<const Plot*>& panels, const std::vector<std::string>& labels,
                Plot& plot) {
  int looks = 0;
  for (std::size_t k = 0; k < panels.size(); ++k) {
    int next = looks;
    for (Series series : panels[k]->series) {
      const Series& own = series;
      const bool is_common = std::all_of(panels.begin(), panels.end(), [&](const Plot* panel) {
        return std::any_of(panel->series.begin(), panel->series.end(),
                           [&](const Series& other) { return is_same(own, other); });
      });
      if (is_common && k > 0) continue;
      next = std::max(next, looks + series.look + 1);
      series.look += looks;
      if (!is_common && !series.name.empty()) series.name = labels[k] + ": " + series.name;
      if (!plot.x.names.empty()) move_places(panels[k]->x.names, plot.x.names, series);
      plot.series.push_back(std::move(series));
    }
    looks = next;
  }
  if (looks <= kLooks) return;
  throw Error(ErrorKind::usage,
              fmt::format("a plot can show {} different curves, and these are {}", kLooks, looks),
              "--plot", "leave it out, or give shorter lists");
}

Plot merged(const std::vector<const Plot*>& panels, const std::vector<std::string>& labels,
            const std::string& title) {
  Plot plot = *panels.front();
  const auto differing = [&](const auto& text_of) { return joined(panels, text_of, " "); };
  const bool one_title = differing([](const Plot& one) { return one.title; }) == plot.title;
  if (!one_title) plot.title = title;
  plot.y.label = joined(
      panels, [](const Plot& one) { return one.y.label; }, " or ");
  plot.y.unit = joined(
      panels, [](const Plot& one) { return one.y.unit; }, " or ");
  plot.note = joined(
      panels, [](const Plot& one) { return one.note; }, " ");
  std::vector<std::vector<std::string>> places;
  for (const Plot* panel : panels) {
    places.push_back(panel->x.names);
    plot.x.ticks.insert(plot.x.ticks.end(), panel->x.ticks.begin(), panel->x.ticks.end());
  }
  std::sort(plot.x.ticks.begin(), plot.x.ticks.end());
  plot.x.ticks.erase(std::unique(plot.x.ticks.begin(), plot.x.ticks.end()), plot.x.ticks.end());
  plot.x.names = merged_order(places);
  plot.series.clear();
  add_series(panels, labels, plot);
  plot.y.scale = scale_of(panels, plot.series);
  return plot;
}

}  // namespace

report::Figure side_by_side_figure(const std::vector<GivenAxis>& axes,
                                   const std::vector<AxesRun>& runs) {
  std::vector<std::string> labels;
  std::size_t panels = runs.front().figure->panels.size();
  for (const AxesRun& run : runs) {
    labels.push_back(run.label());
    panels = std::min(panels, run.figure->panels.size());
  }
  const std::string title = words_of(axes);
  report::Figure figure{panels > 1 ? title : "", {}};
  for (std::size_t i = 0; i < panels; ++i) {
    std::vector<const Plot*> same;
    for (const AxesRun& run : runs) same.push_back(&run.figure->panels[i]);
    figure.panels.push_back(merged(same, labels, panels > 1 ? "" : title));
  }
  return figure;
}

}  // namespace scalecalc::cli
