#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/statistics.hpp"
#include "cli/train/panels.hpp"

namespace scalecalc::cli {
namespace {

using report::AxisScale;
using report::Origin;
using report::Plot;
using report::Series;

/// Norms beyond leave the axis: past ten times 1e3 a run has exploded (TrainVerdict), and below
/// 1e-8 nothing is learned any more.
constexpr double kLargestShown = 1e4, kSmallestShown = 1e-8;

/// " Without a number at the end: none (3 of 3), post (1 of 3)."
std::string lost_text(const TrainedRuns& trained, const std::vector<std::string>& groups,
                      std::int64_t layers) {
  std::string text;
  for (const std::string& group : groups) {
    const std::vector<const TrainRun*> runs = runs_of(trained, group, layers);
    const auto lost = std::ranges::count_if(runs, [](const TrainRun* run) {
      return !run->records.empty() && !std::isfinite(run->records.back().validation_loss);
    });
    if (lost > 0)
      text += fmt::format("{}{} ({} of {})", text.empty() ? "" : ", ", group, lost, runs.size());
  }
  return text.empty() ? text : " Without a number at the end: " + text + ".";
}

/// One curve a placement.
template <class ValueOf>
Plot plot_by_step(const TrainedRuns& trained, const std::vector<std::string>& groups,
                  std::int64_t layers, const ValueOf& value_of) {
  Plot plot = plot_over_steps();
  plot.y.unit = "nats";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Series series{groups[i], Origin::measured, {}, static_cast<int>(i), true};
    for (const auto& [step, values] : recorded(runs_of(trained, groups[i], layers), value_of))
      series.points.push_back(over_seeds(static_cast<double>(step), values));
    plot.series.push_back(std::move(series));
  }
  plot.note = kOverSeeds + lost_text(trained, groups, layers);
  return plot;
}

double farthest(const Plot& plot) {
  double last = 1;
  for (const Series& series : plot.series)
    for (const report::PlotPoint& point : series.points) last = std::max(last, point.x);
  return last;
}

Plot training_loss_plot(const TrainedRuns& trained, const std::vector<std::string>& groups,
                        std::int64_t layers) {
  Plot plot =
      plot_by_step(trained, groups, layers, [](const TrainRecord& record) { return record.loss; });
  plot.title = "Training loss, " + blocks_text(layers);
  plot.y.label = "training loss";
  plot.y.unit = "nats a token";
  plot.note += " Each point: the mean over the steps since the one before.";
  add_entropies(trained, farthest(plot), plot);
  plot.y.most = kFarFromGuess * std::log(static_cast<double>(trained.vocab));
  std::vector<Series> shown = plot.series;
  for (Series& series : shown)
    std::erase_if(series.points, [&](const auto& point) { return point.y > plot.y.most; });
  plot.y.scale = report::fitting_scale(shown);
  return plot;
}

/// Logarithmic, and neither one placement that explodes nor one seed makes the rest flat.
void scale_norms(Plot& plot) {
  plot.y.scale = AxisScale::logarithmic;
  report::let_outliers_leave(plot);
  plot.y.most = std::min(plot.y.most, kLargestShown);
  plot.y.least = std::max(plot.y.least, kSmallestShown);
}

/// Ten times the largest median of a curve that is not itself an explosion's: what explodes leaves
/// the axis to the others, with an arrow at its edge.
double largest_healthy(const Plot& plot) {
  constexpr double explosion = 1e3, room = 10;
  double largest = 0;
  for (const Series& series : plot.series) {
    std::vector<double> values;
    for (const report::PlotPoint& point : series.points)
      if (std::isfinite(point.y)) values.push_back(point.y);
    if (values.empty()) continue;
    const double median = base::sample_median(std::move(values));
    if (median < explosion) largest = std::max(largest, median);
  }
  return largest > 0 ? room * largest : kLargestShown;
}

Plot norm_plot(const TrainedRuns& trained, const std::vector<std::string>& groups,
               std::int64_t layers) {
  Plot plot = plot_by_step(trained, groups, layers,
                           [](const TrainRecord& record) { return record.gradient.total; });
  plot.title = "Norm of the gradient, " + blocks_text(layers);
  plot.y.label = "norm of the gradient";
  plot.note += " Of all parameters, before it is clipped.";
  scale_norms(plot);
  plot.y.most = std::min(plot.y.most, largest_healthy(plot));
  return plot;
}

double norm_of(const LayerNorms& norms, const std::string& layer) {
  const auto found = std::ranges::find(norms.layers, layer);
  return found == norms.layers.end()
             ? std::nan("")
             : norms.norms[static_cast<std::size_t>(found - norms.layers.begin())];
}

/// Of one placement: a curve a step.
Plot profile_plot(const TrainedRuns& trained, const std::string& group, std::int64_t layers) {
  const std::vector<const TrainRun*> runs = runs_of(trained, group, layers);
  Plot plot;
  plot.title = fmt::format("Gradient by layer over the steps: {}, {}", group, blocks_text(layers));
  plot.x.label = "layer, from the embedding to the head";
  plot.y.label = "norm of the gradient";
  plot.y.unit = "nats";
  plot.x.names = layers_of(trained, {group}, layers);
  plot.note = kOverSeeds;
  std::vector<BySteps> by_layer;
  for (const std::string& layer : plot.x.names)
    by_layer.push_back(recorded(
        runs, [&layer](const TrainRecord& record) { return norm_of(record.gradient, layer); }));
  plot.series = profile_series(std::move(by_layer));
  scale_norms(plot);
  return plot;
}

}  // namespace

std::vector<Plot> training_loss_plots(const TrainedRuns& trained) {
  return by_depth(trained, training_loss_plot);
}

std::vector<Plot> norm_plots(const TrainedRuns& trained) {
  return by_depth(trained, norm_plot);
}

std::vector<Plot> profile_plots(const TrainedRuns& trained) {
  std::vector<Plot> plots;
  for (const std::int64_t depth : depths_of(trained.runs))
    for (const auto& groups : panels_of(trained.runs))
      for (const std::string& group : groups)
        if (!runs_of(trained, group, depth).empty())
          plots.push_back(profile_plot(trained, group, depth));
  return plots;
}

}  // namespace scalecalc::cli
