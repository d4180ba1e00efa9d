#include "moments/softcap.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace scalecalc::moments {
namespace {

/// Past this a normal number has no weight in double.
constexpr double kFar = 9;

struct Cap {
  double c;
  double value(double y) const { return c * std::tanh(y / c); }
  double slope(double y) const {
    const double t = std::tanh(y / c);
    return 1 - t * t;
  }
  double bend(double y) const { return -2 * slope(y) * std::tanh(y / c) / c; }
};

/// Sum over a normal z of std sigma, by the trapezoid rule: its error falls as e^(-pi^2/h) times
/// what tanh, whose nearest pole is pi c/2 away, leaves: e^(-pi^2 c/(h sigma)).
template <class F>
void over_normal(double cap, double sigma, const F& at) {
  const double step = std::min(0.25, 0.25 * cap / std::max(sigma, 1e-300));
  const double least = kFar / 4000;  // a bound of the work
  const double h = std::max(step, least);
  const auto count = static_cast<int>(std::ceil(kFar / h));
  double total = 0;
  for (int k = -count; k <= count; ++k) total += std::exp(-h * h * k * k / 2);
  for (int k = -count; k <= count; ++k) at(sigma * h * k, std::exp(-h * h * k * k / 2) / total);
}

}  // namespace

CapMoments cap_moments(double cap, double variance) {
  const Cap phi{cap};
  CapMoments made{0, 0, 0, 0, 0};
  double exponentials = 0;
  over_normal(cap, std::sqrt(std::max(variance, 0.0)), [&](double y, double weight) {
    const double value = phi.value(y), slope = phi.slope(y), e = std::exp(value - cap);
    made.second += weight * value * value;
    made.slope += weight * slope * slope;
    made.own += weight * value * value * slope * slope;
    made.bend += weight * value * phi.bend(y);
    made.tilted_bend += weight * phi.bend(y) * e;
    exponentials += weight * e;
  });
  made.tilted_bend = exponentials > 0 ? made.tilted_bend / exponentials : 0;
  return made;
}

CapPair cap_pair(double cap, double variance, double covariance) {
  const Cap phi{cap};
  const double c = variance > 0 ? std::clamp(covariance / variance, -1.0, 1.0) : 0;
  const double both = std::sqrt(std::fabs(c) * variance),
               alone = std::sqrt(std::max(0.0, (1 - std::fabs(c)) * variance));
  CapPair made{0, 0};
  over_normal(cap, both, [&](double shared, double weight) {
    double value = 0, slope = 0;
    over_normal(cap, alone, [&](double own, double part) {
      value += part * phi.value(shared + own);
      slope += part * phi.slope(shared + own);
    });
    made.cross += weight * value * value;
    made.slope += weight * slope * slope;
  });
  if (c < 0) made.cross = -made.cross;  // phi is odd
  return made;
}

CapMean cap_mean(double cap, double mean, double variance) {
  const Cap phi{cap};
  CapMean made{0, 0, 0, 0};
  over_normal(cap, std::sqrt(std::max(variance, 0.0)), [&](double y, double weight) {
    const double value = phi.value(mean + y), slope = phi.slope(mean + y);
    made.value += weight * value;
    made.slope += weight * slope;
    made.second += weight * value * value;
    made.slope_second += weight * slope * slope;
  });
  return made;
}

ScoreCap score_cap(double cap, double variance, double shared) {
  ScoreCap made;
  if (!(variance > 0)) return made;
  const double apart = variance - std::clamp(shared, -variance, variance);
  made.backward = cap_moments(cap, variance).slope;
  made.together = cap_pair(cap, variance, shared).slope / made.backward;
  // Keys that are nearly one differ by their slope.
  constexpr double one_key = 1e-6;
  made.forward =
      apart > one_key * variance
          ? (cap_moments(cap, variance).second - cap_pair(cap, variance, shared).cross) / apart
          : made.backward;
  const double bent = variance / (cap * cap);
  const double size = 8 * apart * bent + 4 * bent * bent;
  made.omitted = size / (1 + size);
  return made;
}

}  // namespace scalecalc::moments
