#include "gaussian/softmax/averages.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "gaussian/softmax/check.hpp"
#include "gaussian/softmax/one.hpp"
#include "gaussian/softmax/orders.hpp"
#include "gaussian/softmax/overlaps.hpp"
#include "gaussian/softmax/pair.hpp"

namespace scalecalc {
namespace gaussian::softmax {
namespace {

/// Opposed scores of many keys overlap in the tails, which the series leaves out.
constexpr double kMostOpposed = 10.0;

/// E (sum p p')^2 of rows that are one at c = 1, from P22.
double square_of(double overlap, double keys, double tau2) {
  const SoftmaxOne one = integrate_one(keys, tau2);
  return overlap * one.p22.value / one.p2.value;
}

}  // namespace

bool series_is_short(double keys, double tau2, double correlation) {
  if (-correlation * tau2 * std::log(keys + 1.0) > kMostOpposed) return false;
  return series_terms(std::sqrt(tau2), correlation) <= kMostTerms;
}

SoftmaxOverlaps by_differences(double fewer, double more, double tau2, double correlation) {
  const double h = 0.1 / (1.0 + tau2);
  const double centre = std::clamp(correlation, h - 1.0, 1.0 - h);
  std::array<double, 3> a{};
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double at = centre + (static_cast<double>(k) - 1.0) * h;
    a[k] = integrate_pair(fewer, more, tau2, at).a_prime.value;
  }
  const SoftmaxPair pair = integrate_pair(fewer, more, tau2, correlation);
  SoftmaxOverlaps out;
  out.overlap = pair.overlap.value;
  out.a_prime = pair.a_prime.value;
  out.a_third = (a[2] - 2.0 * a[1] + a[0]) / (h * h);
  out.a_second = (a[2] - a[0]) / (2.0 * h) + out.a_third * (correlation - centre);
  out.square = square_of(out.overlap, more, tau2);
  out.error = std::max(pair.overlap.error / pair.overlap.value, 1e-8);
  return out;
}

SoftmaxAverages averages(double keys, double tau2, double correlation) {
  const double variance = std::max(tau2, kLeastVariance);
  const bool series = series_is_short(keys, variance, correlation);
  const int terms = series ? series_terms(std::sqrt(variance), correlation) : 0;
  const Row row(keys, variance, terms);
  return {integrate_orders(row), series ? integrate_overlaps(row, row, correlation)
                                        : by_differences(keys, keys, variance, correlation)};
}

}  // namespace gaussian::softmax

SoftmaxAverages softmax_averages(std::int64_t keys, double tau2, double correlation) {
  gaussian::softmax::check_keys(keys);
  gaussian::softmax::check_variance(tau2);
  gaussian::softmax::check_correlation(correlation);
  return gaussian::softmax::averages(static_cast<double>(keys), tau2, correlation);
}

SoftmaxOrders softmax_orders(std::int64_t keys, double tau2) {
  gaussian::softmax::check_keys(keys);
  gaussian::softmax::check_variance(tau2);
  return gaussian::softmax::integrate_orders(
      gaussian::softmax::Row(static_cast<double>(keys), tau2, 0));
}

SoftmaxOverlaps softmax_overlaps(std::int64_t keys, double tau2, double correlation) {
  return softmax_averages(keys, tau2, correlation).two;
}

}  // namespace scalecalc
