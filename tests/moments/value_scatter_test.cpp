#include "moments/value_scatter.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "sample.hpp"

namespace scalecalc::moments {
namespace {

TEST_CASE("the size of few values of an activation") {
  struct Case {
    const char* name;
    double mean, eps;
    int count;
    bool centred;
  };
  for (const Case& one : {Case{"gelu", 0, 0, 16, true}, Case{"relu_squared", 0, 0, 24, false},
                          Case{"relu_squared", 0, 0, 32, true}, Case{"tanh", 0.5, 0.01, 8, true},
                          Case{"relu", 0, 0, 32, false}, Case{"elu", 0, 0, 12, true}}) {
    CAPTURE(std::string(one.name));
    constexpr int draws = 60000;
    const Activation phi = Activation::named(one.name);
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    testing::Sample inverse, slopes, inputs, slope, input;
    for (int draw = 0; draw < draws; ++draw) {
      double sum = 0, squares = 0, h2 = 0, x2 = 0;
      for (int i = 0; i < one.count; ++i) {
        const double x = normal(random), f = phi.value(one.mean + x), h = phi.slope(one.mean + x);
        sum += f / one.count;
        squares += f * f / one.count;
        h2 += h * h / one.count;
        x2 += x * x * h * h / one.count;
      }
      const double by = 1 / (squares - (one.centred ? sum * sum : 0) + one.eps);
      inverse.add(by);
      slopes.add(h2 * by);
      inputs.add(x2 * by);
      slope.add(h2);
      input.add(x2);
    }
    const ValueScatter found = value_scatter(phi, one.mean, 1, one.count, one.centred, one.eps);
    const double by = found.inverse / (found.size + one.eps);
    // Equal steps of ln t and of u leave 1e-3.
    const auto close = [](double value, double mean, double deviation) {
      return std::fabs(value / mean - 1) < 4.5 * deviation / mean + 2e-3;
    };
    CHECK(close(by, inverse.mean(), inverse.standard_error()));
    // Both the mean of the product and the mean that it is beside are of draws.
    const auto agrees = [&](double factor, const testing::Sample& product,
                            const testing::Sample& alone) {
      const double expected = factor * by * alone.mean();
      return close(expected, product.mean(),
                   product.standard_error() + expected * alone.standard_error() / alone.mean());
    };
    CHECK(agrees(found.slopes, slopes, slope));
    CHECK(agrees(found.inputs, inputs, input));
  }
}

// phi(u) = u: s^2 is q, a Gamma variable of shape k, times chi^2_n/n: E 1/s^2 is k/(k - 1) n/(n -
// 2) of 1/E s^2, and u^2/s^2 does not know q.
TEST_CASE("values whose inputs differ in size") {
  constexpr double n = 24;
  const Activation phi = Activation::from_expression("x");
  for (const double k : {4.0, 10.5, 64.0}) {
    CAPTURE(k);
    const ValueScatter found = value_scatter_of_sizes(phi, 0, 2, 1 / k, n, false, 0);
    const double inverse = k / (k - 1) * n / (n - 2);
    // Steps of the integrals over t and u leave 2e-3, those over q's tails as much.
    constexpr double steps = 4e-3;
    CHECK(std::fabs(found.inverse / inverse - 1) < steps);
    CHECK(std::fabs(found.slopes - 1) < steps);
    CHECK(std::fabs(found.inputs * inverse - 1) < 2 * steps);
  }
  const ValueScatter same = value_scatter(phi, 0, 2, n, false, 0);
  CHECK(value_scatter_of_sizes(phi, 0, 2, 0, n, false, 0).inverse == same.inverse);
}

TEST_CASE("many values have the size of their mean") {
  const ValueScatter found = value_scatter(Activation::named("gelu"), 0, 1, 0, true, 0);
  CHECK(found.inverse == 1);
  CHECK(found.slopes == 1);
  CHECK(found.size > 0);
}

// Of few samples phi(u) w of a gated unit differ far more in size than Gaussian ones, of which
// 1/s^2 is (n - 1)/(n - 3) of 1/E s^2.
TEST_CASE("the size of few values of a gated unit") {
  constexpr int draws = 200000;
  // Steps of the integrals; 4.5 standard errors of four averages.
  constexpr double steps = 0.02, deviations = 4.5;
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (const char* name : {"identity", "gelu"}) {
    const Activation phi = Activation::named(name);
    for (const int n : {9, 24}) {
      CAPTURE(name);
      CAPTURE(n);
      testing::Sample inverse, size;
      std::vector<double> y(static_cast<std::size_t>(n));
      for (int i = 0; i < draws; ++i) {
        double sum = 0, squares = 0;
        for (double& value : y) {
          value = phi.value(normal(random)) * normal(random);
          sum += value;
          squares += value * value;
        }
        const double s = squares - sum * sum / n;
        inverse.add(1 / s);
        size.add(s);
      }
      const double measured = inverse.mean() * size.mean();
      const double error = measured * (inverse.standard_error() / inverse.mean() +
                                       size.standard_error() / size.mean());
      const double found = gated_inverse(phi, 0, 1, n);
      CHECK(std::fabs(found - measured) <= deviations * error + steps * found);
      CHECK(found > 1.05 * (n - 1) / (n - 3));
    }
  }
}

}  // namespace
}  // namespace scalecalc::moments
