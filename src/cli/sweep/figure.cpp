#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/figure_places.hpp"
#include "cli/figures.hpp"

namespace scalecalc::cli {
namespace {

using report::Origin;
using report::Series;

const char* unit_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::delta_loss:
    case Quantity::actual_delta_loss: return "nats per eta";
    case Quantity::grad_norm:
    case Quantity::probe: return "nats";
    case Quantity::update_ratio: break;
  }
  return "pure number";
}

/// size^exponent through the middle of the points, in logarithms.
Series fit_of(const SweepResult& result) {
  double size = 0, value = 0;
  for (const SweepPoint& point : result.points) {
    size += std::log(result.size_of(point));
    value += std::log(point.value);
  }
  const double count = static_cast<double>(result.points.size());
  Series series{(result.by_width ? "width^" : "N^") + report::format_number(result.exponent, 3),
                Origin::fitted,
                {},
                0,
                false};
  for (const SweepPoint& point : {result.points.front(), result.points.back()}) {
    const double n = result.size_of(point);
    series.points.push_back(
        {n, std::exp(value / count + result.exponent * (std::log(n) - size / count)), 0});
  }
  return series;
}

}  // namespace

report::Figure sweep_figure(const SweepAnswer& answer) {
  const SweepResult& result = answer.result;
  const bool measured = answer.options.engine == SweepEngine::passes;
  Series values;
  values.name = measured && result.by_median ? "median over seeds"
                : measured                   ? "mean over seeds"
                                             : "from second moments";
  values.origin = measured ? Origin::measured : Origin::predicted;
  report::Plot plot;
  plot.title = fmt::format("{} by {}: {}, {}", to_string(answer.options.quantity),
                           result.by_width ? "width" : "depth", answer.optimizer,
                           to_string(answer.options.model.placement));
  plot.x.label = result.by_width ? "width" : "depth N";
  plot.x.unit = result.by_width ? "features" : "blocks";
  plot.x.scale =
      result.points.size() > 1 ? report::AxisScale::logarithmic : report::AxisScale::linear;
  bool positive = true;
  for (const SweepPoint& point : result.points) {
    const double size = result.size_of(point);
    values.points.push_back({size, point.value, point.standard_error});
    plot.x.ticks.push_back(size);
    positive = positive && point.value > 0;
  }
  plot.y.label = to_string(answer.options.quantity);
  plot.y.unit = unit_of(answer.options.quantity);
  plot.y.scale = positive ? report::AxisScale::logarithmic : report::AxisScale::linear;
  if (result.no_exponent.empty() && positive) plot.series.push_back(fit_of(result));
  plot.series.push_back(values);
  return {"", {plot}};
}

report::Section along_depth(const SweepResult& result) {
  std::vector<double> values;
  for (const SweepPoint& point : result.points) values.push_back(point.value);
  report::Table table;
  add_curve(result.by_width ? "value by width" : "value by depth", values, table);
  return curve_section("", std::move(table));
}

}  // namespace scalecalc::cli
