#include "moments/window_maximum.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

MaxPool pool_of(std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t side) {
  return {"pool", 4, kernel, stride, padding, side, side};
}

/// Averages over one draw of a channel of two images.
struct Drawn {
  double y = 0, y2 = 0, yy = 0, between = 0, g2 = 0, gg = 0, slope_g2 = 0, input_g2 = 0,
         input_gg = 0;
};

/// Two images whose positions have correlations `within` and `between`; a gradient of the windows
/// whose pairs have correlation `k`.
Drawn draw(const MaxPool& layer, const Activation& phi, const Alike<double>& u, double k,
           std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const auto inputs = static_cast<std::size_t>(layer.height * layer.width);
  const double all = normal(random), v = u.second - u.mean * u.mean, c = u.cross - u.mean * u.mean,
               b = u.between - u.mean * u.mean;
  std::vector<double> sums;
  Drawn made;
  for (int image = 0; image < 2; ++image) {
    const double one = normal(random), same = std::sqrt(k) * normal(random);
    std::vector<double> x(inputs);
    for (double& value : x)
      value =
          u.mean + std::sqrt(b) * all + std::sqrt(c - b) * one + std::sqrt(v - c) * normal(random);
    std::vector<double> g(inputs, 0), y;
    double slope_g2 = 0, input_g2 = 0, input_sum = 0;
    std::vector<double> dx(inputs, 0);
    for (std::int64_t row = 0; row < layer.out_height(); ++row)
      for (std::int64_t column = 0; column < layer.out_width(); ++column) {
        std::size_t best = inputs;
        for (std::int64_t i = 0; i < layer.kernel * layer.kernel; ++i) {
          const std::int64_t down = row * layer.stride - layer.padding + i / layer.kernel,
                             across = column * layer.stride - layer.padding + i % layer.kernel;
          if (down < 0 || down >= layer.height || across < 0 || across >= layer.width) continue;
          const auto at = static_cast<std::size_t>(down * layer.width + across);
          if (best == inputs || phi.value(x[at]) > phi.value(x[best])) best = at;
        }
        const double from = same + std::sqrt(1 - k) * normal(random);
        g[best] += from;
        dx[best] += from * phi.slope(x[best]);
        y.push_back(phi.value(x[best]));
      }
    double sum = 0, square = 0, total = 0, squares = 0;
    for (const double value : y) {
      sum += value;
      square += value * value;
    }
    for (std::size_t i = 0; i < inputs; ++i) {
      total += g[i];
      squares += g[i] * g[i];
      slope_g2 += dx[i] * dx[i];
      const double along = (x[i] - u.mean) * dx[i];
      input_sum += along;
      input_g2 += along * along;
    }
    const auto n = static_cast<double>(y.size()), p = static_cast<double>(inputs);
    sums.push_back(sum / n);
    made.y += sum / n / 2;
    made.y2 += square / n / 2;
    made.yy += (sum * sum - square) / (n * (n - 1)) / 2;
    made.g2 += squares / p / 2;
    made.gg += (total * total - squares) / (p * (p - 1)) / 2;
    made.slope_g2 += slope_g2 / p / 2;
    made.input_g2 += input_g2 / p / 2;
    made.input_gg += (input_sum * input_sum - input_g2) / (p * (p - 1)) / 2;
  }
  made.between = sums[0] * sums[1];
  return made;
}

void check_by_draws(const MaxPool& layer, const char* name, const Alike<double>& u) {
  constexpr int draws = 20000;
  constexpr double k = 0.3;
  // 4.5 standard errors of each of some 60 averages: one run in a thousand would fail by chance.
  constexpr double deviations = 4.5;
  const Activation phi = Activation::named(name);
  std::mt19937_64 random(7);
  const double Drawn::*const members[] = {&Drawn::y,        &Drawn::y2,       &Drawn::yy,
                                          &Drawn::between,  &Drawn::g2,       &Drawn::gg,
                                          &Drawn::slope_g2, &Drawn::input_g2, &Drawn::input_gg};
  constexpr int count = 9;
  double sums[count] = {}, squares[count] = {};
  for (int i = 0; i < draws; ++i) {
    const Drawn one = draw(layer, phi, u, k, random);
    for (int m = 0; m < count; ++m) {
      sums[m] += one.*members[m];
      squares[m] += one.*members[m] * (one.*members[m]);
    }
  }
  const Windows windows = windows_of(layer);
  const WindowMaximum found = window_maximum(phi, u, windows);
  const Alike<double> g = through_windows(windows, found.plain, {0, 1, k, 0}),
                      below = through_windows(windows, found.slopes, {0, 1, k, 0}),
                      inputs = through_windows(windows, found.inputs, {0, 1, k, 0});
  const double predicted[] = {found.value.mean,    found.value.second, found.value.cross,
                              found.value.between, g.second,           g.cross,
                              below.second,        inputs.second,      inputs.cross};
  for (int m = 0; m < count; ++m) {
    CAPTURE(name);
    CAPTURE(m);
    const double mean = sums[m] / draws,
                 error = std::sqrt(std::max(0.0, squares[m] / draws - mean * mean) / draws);
    CHECK(std::fabs(mean - predicted[m]) <=
          deviations * error + 2 * found.error * std::fabs(predicted[m]));
  }
}

}  // namespace

TEST_CASE("windows are counted one by one") {
  const Windows windows = windows_of(pool_of(3, 2, 1, 4));
  // Rows and columns of 2 windows with 2 and 3 places of 4, one of them in both.
  CHECK(windows.inputs == 16);
  CHECK(windows.outputs == 4);
  REQUIRE(windows.single.size() == 3);
  CHECK(windows.single[0].taps == 4);
  CHECK(windows.single[0].share == 0.25);
  CHECK(windows.single[1].taps == 6);
  CHECK(windows.single[1].share == 0.5);
  CHECK(windows.single[2].taps == 9);
  double pairs = 0, both = 0;
  for (const Windows::Two& two : windows.pairs) {
    pairs += two.share;
    both += two.share * static_cast<double>(two.both);
  }
  CHECK(pairs == near(1));
  // Pairs side by side share 2 or 3, those across the corner 1: 2 (2 + 3 + 2 + 3)/12 + 4/12.
  CHECK(both == near(24.0 / 12));
}

TEST_CASE("the largest of a window, by draws") {
  check_by_draws(pool_of(2, 2, 0, 6), "identity", {0, 1, 0.3, 0.1});
  check_by_draws(pool_of(3, 2, 1, 4), "relu", {0, 1, 0.4, 0.2});
  check_by_draws(pool_of(3, 1, 1, 4), "gelu", {0.2, 1.5, 0.6, 0.3});
  check_by_draws(pool_of(2, 2, 0, 4), "tanh", {0, 2, 0, 0});
}

TEST_CASE("the largest of two and of three is known") {
  // E max = 1/sqrt(pi) of two, 3/(2 sqrt(pi)) of three, over independent positions.
  const double pi = std::acos(-1.0);
  const Activation identity = Activation::named("identity");
  const auto at = [&](std::int64_t taps, double c) {
    const Windows windows{
        {{taps, 1}}, {{taps, taps, 0, 1}}, 100, 100.0 / static_cast<double>(taps)};
    return window_maximum(identity, {0, 1, c, 0}, windows);
  };
  const WindowMaximum two = at(2, 0), three = at(3, 0);
  CHECK(two.value.mean == near(1 / std::sqrt(pi), two.error));
  CHECK(two.value.second == near(1, two.error));
  CHECK(three.value.mean == near(1.5 / std::sqrt(pi), three.error));
  // What positions have in common is added to all of them.
  CHECK(at(2, 0.36).value.mean == near(0.8 / std::sqrt(pi), two.error));
  CHECK(at(2, 0.36).value.cross == near(0.36 + 0.64 / pi, two.error));
  // Below 0 as far as above.
  CHECK(at(2, -0.1).value.mean + at(2, 0.1).value.mean == near(2 * two.value.mean, two.error));
}
