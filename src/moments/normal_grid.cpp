#include "moments/normal_grid.hpp"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <cstddef>
#include <limits>

namespace scalecalc::moments {
namespace {

constexpr double reach = 10, step = 0.04;

/// Equal steps are spectrally accurate for smooth integrands, second order at kinks.
NormalGrid equal_steps() {
  NormalGrid made;
  const int points = static_cast<int>(std::lround(2 * reach / step)) + 1;
  double total = 0;
  for (int i = 0; i < points; ++i) {
    made.z.push_back(-reach + i * step);
    made.weight.push_back(std::exp(-made.z.back() * made.z.back() / 2));
    total += made.weight.back();
  }
  for (double& w : made.weight) w /= total;
  return made;
}

/// Each side of a break is given its part of the step that the break divides: a jump costs the
/// square of a step then, as a kink does. On a point, where functions take the average of both
/// sides, a break needs nothing.
NormalGrid steps_at_breaks(const Activation& activation, double mean, double deviation) {
  static const NormalGrid equal = equal_steps();
  NormalGrid made = equal;
  for (const Break& at : activation.breaks()) {
    const double place = ((at.at - mean) / deviation + reach) / step;
    if (!(place > 0) || !(place < static_cast<double>(made.z.size() - 1))) continue;
    const auto left = static_cast<std::size_t>(place);
    const double part = place - static_cast<double>(left);
    if (part == 0) continue;
    const double divided = (equal.weight[left] + equal.weight[left + 1]) / 2;
    made.weight[left] += divided * (part - 0.5);
    made.weight[left + 1] += divided * (0.5 - part);
  }
  return made;
}

/// The least distance between two of these, which rise.
double narrowest(const std::vector<double>& places) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i + 1 < places.size(); ++i)
    if (places[i + 1] > places[i]) least = std::min(least, places[i + 1] - places[i]);
  return least;
}

/// Panels of eight points, no longer than they are far from the next of `places`, but for `width`.
class Panels {
 public:
  Panels(std::vector<double> places, double width) : places_(std::move(places)), width_(width) {}

  void add(double from, double to) {
    const double middle = (from + to) / 2;
    if (to - from > std::max(width_, distance(from, to)) && middle > from && middle < to) {
      add(from, middle);
      add(middle, to);
      return;
    }
    using Points = boost::math::quadrature::gauss<double, 8>;
    const double half = (to - from) / 2;
    for (std::size_t i = 0; i < Points::abscissa().size(); ++i)
      for (const double side : {-1.0, 1.0}) {
        const double z = middle + side * half * Points::abscissa()[i];
        made_.z.push_back(z);
        made_.weight.push_back(half * Points::weights()[i] * std::exp(-z * z / 2));
      }
  }

  NormalGrid take() {
    double total = 0;
    for (const double w : made_.weight) total += w;
    for (double& w : made_.weight) w /= total;
    return std::move(made_);
  }

 private:
  double distance(double from, double to) const {
    const auto next = std::lower_bound(places_.begin(), places_.end(), from);
    double least = std::numeric_limits<double>::infinity();
    if (next != places_.end()) least = std::max(0.0, *next - to);
    if (next != places_.begin()) least = std::min(least, from - *(next - 1));
    return least;
  }

  std::vector<double> places_;  ///< rising
  double width_;
  NormalGrid made_;
};

}  // namespace

NormalGrid normal_grid(const Activation& activation, double mean, double deviation) {
  if (!(deviation > 0)) return steps_at_breaks(activation, mean, deviation);
  std::vector<double> breaks, places, edges;
  for (const Break& at : activation.breaks()) breaks.push_back((at.at - mean) / deviation);
  for (const double at : activation.scales()) places.push_back((at - mean) / deviation);
  places.insert(places.end(), breaks.begin(), breaks.end());
  std::sort(places.begin(), places.end());
  // A tanh of width w has its poles pi w/2 from the line and phi'^4 is sech^8: of steps h the sum
  // is off by (2 pi w/h)^7/7! e^(-pi^2 w/h), four digits where w = 2 h. At a kink, and between two,
  // it is off by (h/w)^2/12, four digits where w = 1.
  const double width = narrowest(places), least = breaks.empty() ? 2 * step : 1;
  if (!(width < least)) return steps_at_breaks(activation, mean, deviation);
  for (double at = -reach; at <= reach; ++at) edges.push_back(at);
  for (const double at : breaks)
    if (std::fabs(at) < reach) edges.push_back(at);
  std::sort(edges.begin(), edges.end());
  Panels panels(std::move(places), width);
  for (std::size_t i = 0; i + 1 < edges.size(); ++i)
    if (edges[i + 1] > edges[i]) panels.add(edges[i], edges[i + 1]);
  return panels.take();
}

}  // namespace scalecalc::moments
