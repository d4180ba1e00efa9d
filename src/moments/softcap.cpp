#include "moments/softcap.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace scalecalc::moments {
namespace {

/// Past this a normal number has no weight in double.
constexpr double kFar = 9;
constexpr double kStep = 0.25;  ///< at most

/// Of two sums in each other, which every pair of positions asks for, where the cap is so many
/// deviations away: e^-79 and e^-158 are left.
constexpr double kPairStep = 0.5, kFarCap = 8;

struct Cap {
  double c;
  double value(double y) const { return c * std::tanh(y / c); }
  double slope(double y) const {
    const double t = std::tanh(y / c);
    return 1 - t * t;
  }
  double bend(double y) const { return -2 * slope(y) * std::tanh(y / c) / c; }
};

/// Sum over a normal z of std sigma, by the trapezoid rule: it leaves e^(-2 pi^2/h^2) of the normal
/// weight, and of tanh, whose nearest pole is pi c/2 away, e^(-pi^2 c/(h sigma)).
template <class F>
void over_normal(double cap, double sigma, const F& at, double widest = kStep) {
  const double step = std::min(widest, 0.25 * cap / std::max(sigma, 1e-300));
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
  const double c = variance > 0 ? std::clamp(covariance / variance, -1.0, 1.0) : 0;
  const double both = std::sqrt(std::fabs(c) * variance),
               alone = std::sqrt(std::max(0.0, (1 - std::fabs(c)) * variance));
  CapPair made{0, 0};
  const bool is_far = cap * cap > kFarCap * kFarCap * variance;
  const auto over_one = [&](double sigma, const auto& at) {
    over_normal(cap, sigma, at, is_far ? kPairStep : kStep);
  };
  over_one(both, [&](double shared, double weight) {
    double value = 0, slope = 0;
    over_one(alone, [&](double own, double part) {
      const double t = std::tanh((shared + own) / cap);
      value += part * cap * t;
      slope += part * (1 - t * t);
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
