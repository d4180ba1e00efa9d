#include "moments/gated_mean.hpp"

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "moments/activation_moments.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

constexpr int tokens = 4;

GatedTokens tokens_of(const std::string& name, double c) {
  Numbers numbers = calculus();
  const auto phi = numbers.function(name);
  const Alike<double> u{0, 1, c, 0}, w{0, 2, 2 * c, 0};
  return gated_tokens(numbers.width(phi, 0, 1), u, w, expectations(numbers, phi, u),
                      slope_expectations(numbers, phi, u));
}

/// Means over draws of g_t g_u, and their standard errors.
struct Sampled {
  std::array<double, 2> mean{}, error{};
};

/// At w and at u, of gradients (p - less y_t) of tokens whose u and w correlate by c.
std::array<Sampled, 2> sampled(const Activation& phi, double c, double less) {
  constexpr int draws = 200000;
  std::mt19937_64 bits(11);
  std::normal_distribution<double> normal;
  std::array<std::array<double, 2>, 2> sum{}, squares{};
  for (int draw = 0; draw < draws; ++draw) {
    std::array<double, tokens> u{}, w{}, y{};
    const double common_u = normal(bits), common_w = normal(bits);
    double mean = 0;
    for (int t = 0; t < tokens; ++t) {
      u[t] = std::sqrt(c) * common_u + std::sqrt(1 - c) * normal(bits);
      w[t] = std::sqrt(2.0) * (std::sqrt(c) * common_w + std::sqrt(1 - c) * normal(bits));
      y[t] = phi.value(u[t]) * w[t];
      mean += y[t] / tokens;
    }
    const auto at = [&](int t, bool gate) {
      const double g = mean - less * y[t];
      return g * (gate ? phi.slope(u[t]) * w[t] : phi.value(u[t]));
    };
    for (const int gate : {0, 1}) {
      const double g = at(0, gate != 0);
      const std::array<double, 2> products{g * g, g * at(1, gate != 0)};
      for (const int i : {0, 1}) {
        sum[gate][i] += products[i];
        squares[gate][i] += products[i] * products[i];
      }
    }
  }
  std::array<Sampled, 2> made;
  for (const int gate : {0, 1})
    for (const int i : {0, 1}) {
      const double mean = sum[gate][i] / draws;
      made[gate].mean[i] = mean;
      made[gate].error[i] = std::sqrt((squares[gate][i] / draws - mean * mean) / draws);
    }
  return made;
}

}  // namespace

TEST_CASE("a gradient along the mean of gated units, beside draws") {
  constexpr double deviations = 4;
  for (const std::string name : {"tanh", "relu", "elu"})
    for (const double c : {0.0, 0.3, 0.8})
      for (const double less : {0.0, 0.6}) {
        CAPTURE(name);
        CAPTURE(c);
        CAPTURE(less);
        const GatedTokens of = tokens_of(name, c);
        const AlongMean mean{tokens, false, less};
        const auto draws = sampled(Activation::named(name), c, less);
        const Alike<double> y{0, of.one.kernel * of.one.w, of.within.kernel * of.within.w, 0};
        const Alike<double> along = products_along(mean, mean, y);
        const Alike<double> in{0, along.second * of.one.kernel, along.cross * of.within.kernel, 0};
        const Alike<double> gate{0, along.second * of.one.slopes * of.one.w,
                                 along.cross * of.within.slopes * of.within.w, 0};
        const auto agrees = [&](const std::string& place, const Alike<double>& means,
                                const MeanProducts& made, const Sampled& found) {
          CAPTURE(place);
          CHECK(std::fabs(means.second + made.beside.second - found.mean[0]) <
                deviations * found.error[0] + made.left_out);
          CHECK(std::fabs(means.cross + made.beside.cross - found.mean[1]) <
                deviations * found.error[1] + made.left_out);
        };
        agrees("w", in, in_of_mean(of, mean), draws[0]);
        agrees("u", gate, gate_of_mean(of, mean), draws[1]);
      }
}

// All sum to (1 - less) y, of which nothing is left out.
TEST_CASE("of one token its mean is itself") {
  const GatedTokens of = tokens_of("relu", 0.3);
  const AlongMean mean{1, false, 0.25};
  const double square = 0.75 * 0.75;
  // Steps of 0.04: the kink costs their square.
  constexpr double kink = 2e-3;
  CHECK(in_of_mean(of, mean).beside.second == near(square * (1.5 - 0.25) * 2, kink));
  CHECK(in_of_mean(of, mean).left_out == 0);
  CHECK(gate_of_mean(of, mean).beside.second == near(square * (3 * 0.5 - 0.25) * 4, kink));
}

// Of tokens that share nothing, and an odd phi, what a token has of itself is all.
TEST_CASE("of independent tokens each has its own") {
  const GatedTokens of = tokens_of("tanh", 0);
  const MeanProducts made = in_of_mean(of, {tokens, false, 0});
  const double own = 1.0 / tokens, f = of.one.kernel;
  CHECK(made.beside.second == near(own * own * (of.one.squares - f * f) * 2, by_quadrature));
  CHECK(made.beside.cross == doctest::Approx(0).epsilon(1e-12));  // rounding of E phi
}
