#include "moments/softcap.hpp"

#include <algorithm>
#include <array>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

namespace scalecalc::moments {
namespace {

/// Past this a normal number has no weight in double.
constexpr double kFar = 9;
constexpr double kWidestStep = 0.25;  ///< at most

/// Where the cap is so many deviations away, sums of wider steps leave e^-79 and e^-158, and
/// Hermite's series of tanh falls by about (sigma/cap)^2 a term.
constexpr double kFarStep = 0.5, kFarCap = 8;
constexpr std::size_t kFarTerms = 16;

/// From so many deviations of the cap on, sums are over what the cap bends, not over the normal
/// numbers; past kBent caps, tanh is 1 but for e^-40.
constexpr double kWide = 4, kBent = 20;

bool is_wide(double cap, double sigma) {
  return sigma > kWide * cap;
}

double normal_density(double z) {
  return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
}

/// phi'(c u), and tanh(u).
struct Bent {
  explicit Bent(double u) : t(std::tanh(u)), slope(1 / (std::cosh(u) * std::cosh(u))) {}
  double t, slope;
};

/// Sum over a normal z of std sigma, by the trapezoid rule: it leaves e^(-2 pi^2/h^2) of the normal
/// weight, and of tanh, whose nearest pole is pi c/2 away, e^(-pi^2 c/(h sigma)).
template <class F>
void over_normal(double cap, double sigma, const F& at) {
  const double h = std::min(kWidestStep, 0.25 * cap / std::max(sigma, 1e-300));
  const auto count = static_cast<int>(std::ceil(kFar / h));
  double total = 0;
  for (int k = -count; k <= count; ++k) total += std::exp(-h * h * k * k / 2);
  for (int k = -count; k <= count; ++k) at(sigma * h * k, std::exp(-h * h * k * k / 2) / total);
}

/// E f(y) of y with this mean and std, of an f that has all its weight within kBent of `size`, by
/// the same rule at steps of `step`: at(y/step, weight).
template <class F>
void over_bent(double step, double size, double mean, double sigma, const F& at) {
  constexpr double part = 0.2;  // of poles of order six e^(-pi^2/part) (2 pi/part)^5/120 is left
  const double h = part * step;
  const auto count = static_cast<int>(std::ceil(kBent * size / h));
  for (int k = -count; k <= count; ++k)
    at(part * k, h / sigma * normal_density((h * k - mean) / sigma));
}

/// E tanh(y/c): the sign's, less (1 - tanh u)(n(u - m) - n(u + m)) of u > 0.
double mean_of_wide(double cap, double mean, double sigma) {
  const auto lost = [&](double u) {
    const double up = (cap * u - mean) / sigma, down = (cap * u + mean) / sigma;
    return 2 / (1 + std::exp(2 * u)) * (normal_density(up) - normal_density(down));
  };
  using Rule = boost::math::quadrature::gauss<double, 20>;
  const double bent =
      Rule::integrate(lost, 0, 2) + Rule::integrate(lost, 2, 6) + Rule::integrate(lost, 6, kBent);
  return std::erf(mean / (sigma * std::numbers::sqrt2)) - cap / sigma * bent;
}

/// sinh(c t) e^-c/c and cosh(c t) e^-c: what e^phi e^-c has of either sign of y.
struct Tilt {
  Tilt(double cap, double t)
      : odd(std::exp(cap * (std::fabs(t) - 1)) * -std::expm1(-2 * cap * std::fabs(t)) / (2 * cap)),
        even(std::exp(cap * (std::fabs(t) - 1)) * (1 + std::exp(-2 * cap * std::fabs(t))) / 2) {}
  double odd, even;
};

CapMoments moments_of_wide(double cap, double sigma) {
  CapMoments made{0, 0, 0, 0, 0};
  double lost = 0, exponentials = 0;
  const Tilt full(cap, 1);
  // e^phi is bent past where 1 - tanh is 1/c.
  const double size = 1 + std::log1p(cap) / (2 * kBent);
  over_bent(cap, cap * size, 0, sigma, [&](double u, double weight) {
    const Bent of(u);
    const double square = of.t * of.t;
    const Tilt tilt(cap, of.t);
    lost += weight * of.slope;
    made.slope += weight * of.slope * of.slope;
    made.own += weight * square * of.slope * of.slope;
    made.bend -= 2 * weight * square * of.slope;
    made.tilted_bend -= 2 * weight * of.slope * std::fabs(of.t) * tilt.odd;
    exponentials += weight * (full.even - tilt.even);
  });
  made.second = cap * cap * (1 - lost);
  made.own *= cap * cap;
  made.tilted_bend /= full.even - exponentials;
  return made;
}

}  // namespace

CapMoments cap_moments(double cap, double variance) {
  const double sigma = std::sqrt(std::max(variance, 0.0));
  if (is_wide(cap, sigma)) return moments_of_wide(cap, sigma);
  CapMoments made{0, 0, 0, 0, 0};
  double exponentials = 0;
  over_normal(cap, sigma, [&](double y, double weight) {
    const Bent of(y / cap);
    const double value = cap * of.t;
    const Tilt tilt(cap, of.t);
    made.second += weight * value * value;
    made.slope += weight * of.slope * of.slope;
    made.own += weight * value * value * of.slope * of.slope;
    made.bend -= 2 * weight * of.t * of.t * of.slope;
    made.tilted_bend -= 2 * weight * of.slope * std::fabs(of.t) * tilt.odd;
    exponentials += weight * tilt.even;
  });
  made.tilted_bend = exponentials > 0 ? made.tilted_bend / exponentials : 0;
  return made;
}

namespace {

/// sum of a_n^2 c^n and of b_n^2 c^n, with a_n = E phi(y) He_n/sqrt(n!) and b_n likewise of phi'.
CapPair pair_by_series(double cap, double variance, double c) {
  std::array<double, kFarTerms> of_values{}, of_slopes{};
  const double sigma = std::sqrt(variance);
  const auto count = static_cast<int>(kFar / kFarStep);
  double total = 0;
  for (int k = -count; k <= count; ++k) {
    const double z = kFarStep * k, weight = std::exp(-z * z / 2), t = std::tanh(sigma * z / cap);
    total += weight;
    double last = 0, hermite = weight;
    for (std::size_t n = 0; n < kFarTerms; ++n) {
      of_values[n] += hermite * cap * t;
      of_slopes[n] += hermite * (1 - t * t);
      const auto order = static_cast<double>(n);
      last = std::exchange(hermite, (z * hermite - std::sqrt(order) * last) / std::sqrt(order + 1));
    }
  }
  CapPair made{0, 0};
  double power = 1 / (total * total);
  for (std::size_t n = 0; n < kFarTerms; ++n, power *= c) {
    made.cross += of_values[n] * of_values[n] * power;
    made.slope += of_slopes[n] * of_slopes[n] * power;
  }
  return made;
}

}  // namespace

CapPair cap_pair(double cap, double variance, double covariance) {
  const double c = variance > 0 ? std::clamp(covariance / variance, -1.0, 1.0) : 0;
  if (cap * cap > kFarCap * kFarCap * variance) return pair_by_series(cap, variance, c);
  const double both = std::sqrt(std::fabs(c) * variance),
               alone = std::sqrt(std::max(0.0, (1 - std::fabs(c)) * variance));
  /// E tanh and E phi' given what both share.
  const auto given = [&](double shared) {
    std::pair<double, double> made{0, 0};
    if (is_wide(cap, alone)) {
      over_bent(cap, cap, shared, alone,
                [&](double u, double weight) { made.second += weight * Bent(u).slope; });
      made.first = mean_of_wide(cap, shared, alone);
    } else {
      over_normal(cap, alone, [&](double own, double weight) {
        const double t = std::tanh((shared + own) / cap);
        made.first += weight * t;
        made.second += weight * (1 - t * t);
      });
    }
    return made;
  };
  CapPair made{0, 0};
  // What is given bends where the larger of the cap and what each has alone does.
  const double size = std::max(cap, alone), step = is_wide(cap, alone) ? alone : cap;
  if (is_wide(size, both)) {
    double lost = 0;
    over_bent(step, size, 0, both, [&](double u, double weight) {
      const auto [value, slope] = given(step * u);
      lost += weight * (1 - value * value);
      made.slope += weight * slope * slope;
    });
    made.cross = cap * cap * (1 - lost);
  } else {
    over_normal(step, both, [&](double shared, double weight) {
      const auto [value, slope] = given(shared);
      made.cross += weight * cap * cap * value * value;
      made.slope += weight * slope * slope;
    });
  }
  if (c < 0) made.cross = -made.cross;  // phi is odd
  return made;
}

CapMean cap_mean(double cap, double mean, double variance) {
  const double sigma = std::sqrt(std::max(variance, 0.0));
  CapMean made{0, 0, 0, 0};
  if (is_wide(cap, sigma)) {
    double lost = 0;
    over_bent(cap, cap, mean, sigma, [&](double u, double weight) {
      const double slope = Bent(u).slope;
      lost += weight * slope;
      made.slope_second += weight * slope * slope;
    });
    return {cap * mean_of_wide(cap, mean, sigma), lost, cap * cap * (1 - lost), made.slope_second};
  }
  over_normal(cap, sigma, [&](double y, double weight) {
    const Bent of((mean + y) / cap);
    made.value += weight * cap * of.t;
    made.slope += weight * of.slope;
    made.second += weight * cap * cap * of.t * of.t;
    made.slope_second += weight * of.slope * of.slope;
  });
  return made;
}

namespace {

/// A logit's value, the square of its slope and its second derivative, and how often it is that.
struct Logit {
  double value, slope_square, bend, weight;
};
struct LossSums {
  double once = 0, twice = 0, bend = 0;  ///< E p phi'^2, E p^2 phi'^2, E p phi''
  double slope = 0;                      ///< E phi'^2
};

/// By 1/S = int e^(-t S) dt of S = sum e^phi (docs/theory/layers.md#logit-softcap): E p_k phi'^2 =
/// int A_1 B^(K-1) dt and E p_k^2 phi'^2 = int t A_2 B^(K-1) dt, A_n = E e^(n phi) phi'^2 e^(-t
/// e^phi), B = E e^(-t e^phi); by the trapezoid rule in ln t.
LossSums loss_sums(const std::vector<Logit>& logits, double classes) {
  constexpr double step = 0.25, nothing_yet = 1e-14, nothing_left = 60;
  double top = 0, mean = 0, least = 1;
  LossSums sums;
  for (const Logit& one : logits) top = std::max(top, one.value);
  std::vector<double> exponentials;
  for (const Logit& one : logits) {
    exponentials.push_back(std::exp(one.value - top));
    mean += one.weight * exponentials.back();
    least = std::min(least, exponentials.back());
    sums.slope += one.weight * one.slope_square;
  }
  for (double log_t = std::log(nothing_yet / (classes * mean));; log_t += step) {
    const double t = std::exp(log_t);
    double first = 0, second = 0, bend = 0, lost = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double part = t * exponentials[i], left = std::exp(-part);
      const double weighed = logits[i].weight * part * left;
      first += weighed * logits[i].slope_square;
      second += weighed * logits[i].slope_square * part;
      bend += weighed * logits[i].bend;
      lost -= logits[i].weight * std::expm1(-part);
    }
    // Of few classes B falls as its least logit does.
    if ((classes - 1) * lost > nothing_left || t * least > nothing_left) break;
    const double others = step * std::exp((classes - 1) * std::log1p(-lost));
    sums.once += first * others;
    sums.twice += second * others;
    sums.bend += bend * others;
  }
  return sums;
}

}  // namespace

std::optional<CappedLoss> capped_loss(double cap, double variance, double classes) {
  const double sigma = std::sqrt(std::max(variance, 0.0));
  if (!(sigma > 0) || classes < 2 || is_wide(cap, sigma)) return {};
  std::vector<Logit> capped, plain;
  double second = 0;
  over_normal(cap, sigma, [&](double y, double weight) {
    const Bent of(y / cap);
    capped.push_back({cap * of.t, of.slope * of.slope, -2 * of.t * of.slope / cap, weight});
    second += weight * cap * of.t * cap * of.t;
  });
  // Past this exponentials of the least and the largest logit have no ratio in double.
  constexpr double most = 300;
  if (!(kFar * std::sqrt(second) <= most)) return {};
  over_normal(cap, std::sqrt(second), [&](double y, double weight) {
    plain.push_back({y, 1, 0, weight});
  });
  const LossSums of = loss_sums(capped, classes), without = loss_sums(plain, classes);
  const auto square = [&](const LossSums& sums) {
    return sums.twice - 2 * sums.once / classes + sums.slope / classes;
  };
  return CappedLoss{square(of) / (of.slope * square(without)),
                    (of.once - of.twice) / (of.slope * (without.once - without.twice)), of.bend};
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
