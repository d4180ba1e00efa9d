#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"
#include "cli/train/tuning.hpp"

namespace scalecalc::cli {
namespace {

using report::AxisScale;
using report::Origin;
using report::Plot;
using report::Series;

/// Of the lowest loss: what is above it by more leaves the axis.
constexpr double kFarAbove = 1.25;
/// How far below the lowest loss the lines from the optima reach, as a part of that.
constexpr double kBelow = 0.02;
/// Steps that a parabola is drawn in.
constexpr int kSteps = 24;

std::string axis_name(const TunedCurves& curves) {
  return curves.axis == GrowthAxis::width ? "width" : "depth";
}

std::string title_end(const TuningAnswer& answer, const TunedCurves& curves) {
  std::string text = fmt::format(
      ", {}, {}", answer.optimizer,
      answer.setup.parametrization == "own" ? "own inits" : answer.setup.parametrization);
  for (const auto& [key, value] : curves.others)
    text += fmt::format(", {} {}", key, report::format_number(value));
  return text;
}

Series measured(const TunedCurves& curves, const TunedSize& size, int look) {
  Series series{fmt::format("{} {}", axis_name(curves), curves.size_of(size)),
                Origin::measured,
                {},
                look,
                true};
  for (const CurvePoint& point : size.curve) {
    const double error =
        point.diverged() || point.losses.size() < 2 ? 0.0 : base::error_of_mean(point.losses);
    series.points.push_back({point.value, point.diverged() ? std::nan("") : point.mean(), error});
  }
  return series;
}

/// The parabola over its points, and a line from its vertex down to `bottom`.
Series parabola(const TunedSize& size, double bottom, int look) {
  const CurveOptimum& best = *size.optimum;
  Series series{"", Origin::fitted, {}, look, false};
  const double from = std::log(size.curve[best.first].value);
  const double to = std::log(size.curve[best.last].value);
  for (int i = 0; i <= kSteps; ++i) {
    const double at = from + (to - from) * i / kSteps;
    const double away = at - std::log(best.value);
    series.points.push_back({std::exp(at), best.loss + best.curvature / 2 * away * away, 0});
  }
  series.points.push_back({best.value, std::nan(""), 0});
  series.points.push_back({best.value, best.loss, 0});
  series.points.push_back({best.value, bottom, 0});
  return series;
}

Plot loss_plot(const TuningAnswer& answer, const TunedCurves& curves) {
  Plot plot;
  const std::string& key = answer.setup.keys.front();
  plot.title = "Loss against " + key + title_end(answer, curves);
  plot.x.label = key == "lr" ? "learning rate" : key;
  plot.x.unit = "pure number";
  plot.x.scale = AxisScale::logarithmic;
  plot.y.label = "validation loss";
  plot.y.unit = "nats a token";
  double least = std::numeric_limits<double>::infinity();
  for (const TunedSize& size : curves.sizes)
    for (const CurvePoint& point : size.curve) least = std::min(least, point.mean());
  plot.y.most = kFarAbove * least;
  int look = 0;
  std::string without;
  for (const TunedSize& size : curves.sizes) {
    plot.series.push_back(measured(curves, size, look));
    const bool has_one = size.optimum && size.optimum->kind == OptimumKind::inside;
    if (has_one) plot.series.push_back(parabola(size, (1 - kBelow) * least, look));
    if (!has_one) without += fmt::format("{}{}", without.empty() ? "" : ", ", curves.size_of(size));
    ++look;
  }
  plot.note =
      "The mean over seeds with its standard error. Dotted: the parabola through the points about "
      "the minimum, and a line down from the optimum, its vertex.";
  if (!without.empty())
    plot.note +=
        fmt::format(" Without a minimum inside of the grid: {} {}.", axis_name(curves), without);
  return plot;
}

/// A power of the size through the middle of what was measured.
Series power(const char* name, Origin origin, const std::vector<double>& sizes, double middle,
             double height, double exponent, int look) {
  Series series{name, origin, {}, look, false};
  for (const double size : {sizes.front(), sizes.back()})
    series.points.push_back({size, height * std::pow(size / middle, exponent), 0});
  return series;
}

Plot optimum_plot(const TuningAnswer& answer, const TunedCurves& curves) {
  Plot plot;
  const std::string& key = answer.setup.keys.front();
  plot.title =
      fmt::format("The best {} by {}{}", key, axis_name(curves), title_end(answer, curves));
  plot.x.label = axis_name(curves);
  plot.x.unit = curves.axis == GrowthAxis::width ? "features" : "blocks";
  plot.x.scale = plot.y.scale = AxisScale::logarithmic;
  plot.y.label = "best " + (key == "lr" ? std::string("learning rate") : key);
  plot.y.unit = "pure number";
  Series best{"best", Origin::measured, {}, 0, false};
  double middle = 0, height = 0;
  for (const TunedSize& size : curves.sizes) {
    plot.x.ticks.push_back(curves.size_of(size));
    if (!size.optimum || !has_place(size.optimum->kind)) continue;
    const CurveOptimum& found = *size.optimum;
    best.points.push_back({curves.size_of(size), found.value,
                           std::isfinite(found.log_error) ? found.value * found.log_error : 0.0});
    middle += std::log(curves.size_of(size));
    height += std::log(found.value);
  }
  const auto count = static_cast<double>(best.points.size());
  plot.series.push_back(std::move(best));
  if (count == 0) return plot;
  middle = std::exp(middle / count);
  height = std::exp(height / count);
  if (std::isfinite(curves.law.exponent))
    plot.series.push_back(power("power", Origin::fitted, plot.x.ticks, middle,
                                curves.law.at(middle), curves.law.exponent, 0));
  if (curves.prediction.exponent)
    plot.series.push_back(power("solver's power", Origin::predicted, plot.x.ticks, middle, height,
                                curves.prediction.exponent->to_double(), 1));
  return plot;
}

}  // namespace

std::vector<report::Plot> tuning_plots(const TuningAnswer& answer) {
  std::vector<Plot> plots;
  for (const TunedCurves& curves : answer.curves) {
    plots.push_back(loss_plot(answer, curves));
    plots.push_back(optimum_plot(answer, curves));
  }
  return plots;
}

}  // namespace scalecalc::cli
