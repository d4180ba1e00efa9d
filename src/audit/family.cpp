#include "audit/family.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

namespace scalecalc::audit_room {
namespace {

/// A normal within 2 of its standard deviations, rescaled: E x^k = (k - 1) E x^(k-2) -
/// 2^(k-1) c with c = 2 phi(2)/(2 Phi(2) - 1), by parts.
Family truncated() {
  const double at = 2;
  const boost::math::normal_distribution<> normal;
  const double c = 2 * boost::math::pdf(normal, at) / std::erf(at / std::sqrt(2.0));
  const double second = 1 - at * c;
  const double fourth = 3 * second - std::pow(at, 3) * c;
  const double sixth = 5 * fourth - std::pow(at, 5) * c;
  const double eighth = 7 * sixth - std::pow(at, 7) * c;
  return {Start::truncated_normal, fourth / std::pow(second, 2), sixth / std::pow(second, 3),
          eighth / std::pow(second, 4), at / std::sqrt(second)};
}

/// E x^k = 3^(k/2)/(k + 1).
Family uniform() {
  return {Start::uniform, 9.0 / 5, 27.0 / 7, 81.0 / 9, std::sqrt(3.0)};
}

constexpr std::int64_t fewest_normal = 100, fewest_bounded = 1000;

/// Anscombe and Glynn, "Distribution of the kurtosis statistic b2 for normal samples", Biometrika
/// 70 (1983): the deviation of b2, in units of a standard normal.
double normal_kurtosis_score(double kurtosis, double n) {
  const double mean = 3 * (n - 1) / (n + 1);
  const double variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) * (n + 1) * (n + 3) * (n + 5));
  const double x = (kurtosis - mean) / std::sqrt(variance);
  const double skewness = 6 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9)) *
                          std::sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)));
  const double a = 6 + 8 / skewness * (2 / skewness + std::sqrt(1 + 4 / (skewness * skewness)));
  const double base = (1 - 2 / a) / (1 + x * std::sqrt(2 / (a - 4)));
  return (1 - 2 / (9 * a) - std::cbrt(base)) / std::sqrt(2 / (9 * a));
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = {Family{}, truncated(), uniform()};
  return all;
}

const Family& family_of(Start start) {
  for (const Family& family : families())
    if (family.start == start) return family;
  return families().front();
}

Bands::Bands(std::size_t comparisons, double confidence)
    : tail_((1 - confidence) / (2 * static_cast<double>(std::max<std::size_t>(comparisons, 1)))),
      quantile_(boost::math::quantile(
          boost::math::complement(boost::math::normal_distribution<>(), tail_))) {}

Bands::Ratio Bands::std_ratio(const Family& family, std::int64_t count) const {
  // The chi-squared law of few values of a bounded distribution has thinner tails than their own.
  constexpr std::int64_t few = 100;
  const auto n = static_cast<double>(count);
  if (count < 2) return {0, std::numeric_limits<double>::infinity()};
  const auto [place, is_new] = ratios_.try_emplace({family.kurtosis, count});
  if (!is_new) return place->second;
  const double freedom = count < few ? n - 1 : 2 * (n - 1) / (family.kurtosis - 1);
  const boost::math::chi_squared squares(freedom);
  const double unbiased = (n - 1) / n;  // the std is divided by n
  place->second = {
      std::sqrt(unbiased * boost::math::quantile(squares, tail_) / freedom),
      std::sqrt(unbiased * boost::math::quantile(boost::math::complement(squares, tail_)) /
                freedom)};
  return place->second;
}

bool Bands::kurtosis_fits(const Family& family, const Sample& sample) const {
  if (sample.count < fewest_normal || std::isnan(sample.kurtosis)) return true;
  const auto n = static_cast<double>(sample.count);
  if (family.bound == 0) return std::abs(normal_kurtosis_score(sample.kurtosis, n)) <= quantile_;
  if (sample.count < fewest_bounded) return true;
  const double k = family.kurtosis;
  const double variance = family.eighth - k * k + 4 * k * k * k - 4 * k * family.sixth;
  return std::abs(sample.kurtosis - k) <= quantile_ * std::sqrt(variance / n);
}

bool Bands::extreme_fits(const Family& family, std::int64_t count, double deviations) const {
  if (family.bound > 0) return deviations <= family.bound;
  const double each = tail_ / static_cast<double>(std::max<std::int64_t>(count, 1));
  return deviations <=
         boost::math::quantile(boost::math::complement(boost::math::normal_distribution<>(), each));
}

double std_error(const Family& family, std::int64_t count) {
  return std::sqrt((family.kurtosis - 1) / (4 * static_cast<double>(count)));
}

}  // namespace scalecalc::audit_room
