#include "tensor/norm_rule.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "support.hpp"

namespace scalecalc::tensor {
namespace {

/// <weight, y> with y the norm of x, written as a power of the variance.
long double weighted_norm(bool centred, long double eps, const std::vector<long double>& x,
                          const Vector& weight) {
  const auto n = static_cast<long double>(x.size());
  long double mean = 0.0L, square = 0.0L, sum = 0.0L;
  for (const long double entry : x) mean += centred ? entry / n : 0.0L;
  for (const long double entry : x) square += std::pow(entry - mean, 2.0L) / n;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += static_cast<long double>(weight[i]) * (x[i] - mean) * std::pow(square + eps, -0.5L);
  }
  return sum;
}

/// Its gradient by central differences of fourth order; h balances h^4 with 2^-63/h.
Vector differences(bool centred, long double eps, const Vector& at, const Vector& weight) {
  std::vector<long double> x(at.begin(), at.end());
  Vector result;
  for (long double& entry : x) {
    const long double middle = entry, h = 1e-4L;
    const auto f = [&](long double step) {
      entry = middle + step;
      return weighted_norm(centred, eps, x, weight);
    };
    const long double slope = (8.0L * (f(h) - f(-h)) - (f(2.0L * h) - f(-2.0L * h))) / (12.0L * h);
    entry = middle;
    result.push_back(static_cast<double>(slope));
  }
  return result;
}

double mean_product(const Vector& a, const Vector& b) {
  return dot(a, b) / static_cast<double>(a.size());
}

}  // namespace

TEST_CASE("norm rule: a row of entries against the definition and its differences") {
  for (const std::size_t n : {3u, 8u, 31u}) {
    const Vector x = normal_values(n, 1), dy = normal_values(n, 2), ones(n, 1.0);
    for (const bool centred : {true, false}) {
      for (const double eps : {0.0, 0.3}) {
        CAPTURE(n);
        CAPTURE(centred);
        CAPTURE(eps);
        const double mean = centred ? mean_product(x, ones) : 0.0;
        Vector apart, y, dx;
        for (const double entry : x) apart.push_back(entry - mean);
        const double factor = norm_factor(mean_product(apart, apart) + eps);
        for (const double entry : x) y.push_back(normalised(entry, mean, factor));
        const double dy_mean = centred ? mean_product(dy, ones) : 0.0;
        const double along = mean_product(dy, y);
        for (std::size_t i = 0; i < n; ++i) {
          dx.push_back(norm_gradient(dy[i], dy_mean, y[i], along, factor));
        }
        // Sums of n terms of the size of x or dy, twice one after the other.
        const double tolerance =
            4.0 * static_cast<double>(n) * std::numeric_limits<double>::epsilon() * norm(dy);
        const auto value = static_cast<double>(
            weighted_norm(centred, static_cast<long double>(eps), {x.begin(), x.end()}, dy));
        CHECK(std::fabs(dot(dy, y) - value) < tolerance * norm(y));
        CHECK(distance(dx, differences(centred, static_cast<long double>(eps), x, dy)) <
              tolerance * factor);
      }
    }
  }
}

TEST_CASE("norm rule: what rounding leaves of equal entries is told from a variance") {
  for (const std::int64_t count : {2, 3, 7, 100, 5000}) {
    for (const double entry : {0.1, -1.0 / 3.0, 1e-200, 7e150}) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < count; ++i) sum += entry;
      const double mean = sum / static_cast<double>(count);
      const double variance = std::pow(entry - mean, 2);
      CHECK((variance == 0.0 || is_rounding(variance, mean, count)));
    }
    CHECK(!is_rounding(1e-20, 1.0, count));
  }
  CHECK(!is_rounding(0.0, 0.0, 5));
  CHECK(!is_rounding(static_cast<double>(NAN), 1.0, 5));
}

TEST_CASE("norm rule: without variance the factor is 0, and what is not a number stays so") {
  CHECK(norm_factor(0.25) == 2.0);
  CHECK(norm_factor(0.0F) == 0.0F);
  CHECK(std::isnan(norm_factor(static_cast<double>(NAN))));
  CHECK(std::isfinite(norm_factor(std::numeric_limits<float>::denorm_min())));
  CHECK(norm_gradient(5.0, 1.0, 0.0, 3.0, norm_factor(0.0)) == 0.0);
}

}  // namespace scalecalc::tensor
