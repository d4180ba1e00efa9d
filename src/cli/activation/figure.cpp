#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"
#include "cli/figures.hpp"

namespace scalecalc::cli {
namespace {

using report::Origin;
using report::Series;

constexpr int kPoints = 400;
constexpr double kReach = 4;  // standard deviations of the input

/// The points of [from, to] and the breaks within; at a jump the line ends and begins again.
template <class Function>
void add_curve_points(const Activation& activation, double from, double to, const Function& value,
                      Series& series) {
  const double nudge = (to - from) * 1e-9;
  std::size_t next = 0;
  const auto& breaks = activation.breaks();
  while (next < breaks.size() && breaks[next].at <= from) ++next;
  for (int i = 0; i <= kPoints; ++i) {
    const double x = from + (to - from) * i / kPoints;
    for (; next < breaks.size() && breaks[next].at <= x; ++next) {
      const double at = breaks[next].at;
      series.points.push_back({at - nudge, value(at - nudge), 0});
      series.points.push_back({at, std::nan(""), 0});
      series.points.push_back({at + nudge, value(at + nudge), 0});
    }
    if (next > 0 && std::fabs(x - breaks[next - 1].at) <= nudge) continue;
    series.points.push_back({x, value(x), 0});
  }
}

}  // namespace

report::Figure activation_figure(const ActivationAnswer& answer) {
  const Activation& activation = answer.activation;
  const GaussianInput input = answer.input.rounded();
  const double deviation = std::sqrt(input.variance);
  const double reach = deviation > 0 ? kReach * deviation : 1;
  const double from = input.mean - reach, to = input.mean + reach;
  Series value{"phi(x)", Origin::exact, {}, 0, false};
  Series slope{"phi'(x)", Origin::exact, {}, 1, false};
  Series density{"density of x", Origin::exact, {}, 2, false};
  add_curve_points(
      activation, from, to, [&](double x) { return activation.value(x); }, value);
  add_curve_points(
      activation, from, to, [&](double x) { return activation.slope(x); }, slope);
  for (int i = 0; i <= kPoints && deviation > 0; ++i) {
    const double z = kReach * (2.0 * i / kPoints - 1);
    density.points.push_back(
        {input.mean + deviation * z, std::exp(-z * z / 2) / (deviation * std::sqrt(2 * M_PI)), 0});
  }
  report::Plot plot;
  plot.title =
      fmt::format("{} at N({}, {})", base::shortened(activation.name(), 300),
                  report::format_number(input.mean, 4), report::format_number(input.variance, 4));
  plot.x = {"input x", "pure number"};
  plot.y = {"value", "pure number"};
  plot.series = {value, slope};
  if (deviation == 0) return {"", {plot}};
  // Its size follows the deviation's, not the activation's: an axis of its own.
  const report::Plot below{"", plot.x, {"density", "per unit of x"}, {density}, ""};
  return {"", {plot, below}};
}

}  // namespace scalecalc::cli
