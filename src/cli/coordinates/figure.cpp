#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "cli/coordinates/document.hpp"
#include "cli/roots.hpp"

namespace scalecalc::cli {
namespace {

using report::Origin;
using report::Series;

/// Sites whose lines a panel shows: what leaves a layer with weights, and the stream.
bool is_shown(const CoordinateSite& site) {
  const bool moves = std::ranges::any_of(site.points, [](const CoordinatePoint& point) {
    return std::ranges::any_of(point.change.back(), [](double square) { return square > 0; });
  });
  return moves && site.kind != "norm" && site.kind != "activation" && site.kind != "dropout";
}

Series measured_series(const CoordinateAnswer& answer, const CoordinateSite& site, std::size_t step,
                       int look) {
  Series series{site.path, Origin::measured, {}, look, true};
  for (std::size_t i = 0; i < site.points.size(); ++i) {
    const std::vector<double>& squares = site.points[i].change[step];
    const double mean = base::sample_mean(squares), root = std::sqrt(mean);
    const double error = base::error_of_mean(squares) / (2 * root);
    series.points.push_back({answer.options.sizes[i].size, root, error});
  }
  return series;
}

Series predicted_series(const CoordinateAnswer& answer, const CoordinateSite& site,
                        std::size_t step, int look) {
  Series series{"", Origin::predicted, {}, look, false};
  for (std::size_t i = 0; i < site.points.size(); ++i)
    if (const Figure& square = predicted_square(site.points[i], Coordinate::change, step);
        square.is_known())
      series.points.push_back({answer.options.sizes[i].size, root_of(square), 0});
  return series;
}

report::Plot panel(const CoordinateAnswer& answer, std::size_t step) {
  report::Plot plot;
  const std::string axis = to_string(answer.options.axis);
  const bool is_width = answer.options.axis == GrowthAxis::width;
  plot.title = fmt::format("How far sites have moved after step {}", step);
  plot.x.label = axis;
  plot.x.unit = is_width ? "features" : "layers";
  plot.x.scale = report::AxisScale::logarithmic;
  plot.x.ticks = answer.sizes();
  plot.y.label = "rms change";
  plot.y.unit = "pure number";
  plot.y.scale = report::AxisScale::logarithmic;
  int look = 0;
  for (const CoordinateSite& site : answer.check.sites) {
    if (!is_shown(site)) continue;
    plot.series.push_back(measured_series(answer, site, step, look));
    Series predicted = predicted_series(answer, site, step, look++);
    if (!predicted.points.empty()) plot.series.push_back(std::move(predicted));
  }
  plot.note = "Marks are measured, lines without marks predicted from moments.";
  if (step > 1) plot.note += " Those of later steps follow the first gradient.";
  return plot;
}

}  // namespace

report::Figure coordinates_figure(const CoordinatesAnswer& answer) {
  report::Figure figure;
  const CoordinateOptions& options = answer.checks.front().options;
  figure.title =
      fmt::format("{}, {}, {}", base::shortened(answer.model), options.optimizer,
                  answer.parametrization == "own" ? "own numbers" : answer.parametrization);
  for (const CoordinateAnswer& one : answer.checks) {
    figure.panels.push_back(panel(one, 1));
    if (one.options.steps > 1)
      figure.panels.push_back(panel(one, static_cast<std::size_t>(one.options.steps)));
  }
  return figure;
}

}  // namespace scalecalc::cli
