#include "moments/normal_grid.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "moments/width_moments.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/gaussian.hpp"
#include "tolerance.hpp"

namespace scalecalc::moments {
namespace {

/// As normal_grid() says: of steps half as wide as what they sum; of a kink a twelfth of the square
/// of one, times what the derivative jumps by: 16 of phi^4 and of phi'^2 at most.
const double steps_error =
    std::pow(4 * M_PI, 7) / 5040 * std::exp(-2 * M_PI * M_PI) + 16 * 0.04 * 0.04 / 12;

/// A break that rounding puts beside a point gives one side half of that point's weight too much.
double of_breaks(const Activation& phi) {
  constexpr double step = 0.04, beside = 1e-6;
  double sum = 0;
  for (const Break& at : phi.breaks()) {
    const double distance = std::max(1.0, std::fabs(at.at)) * beside;
    const double left = phi.slope(at.at - distance), right = phi.slope(at.at + distance);
    sum += std::fabs(right * right - left * left) / 2;
  }
  return sum * step / std::sqrt(2 * M_PI);
}

/// Far out it is about a polynomial of low degree: no exponential, and nothing periodic.
bool settles(const Activation& phi) {
  constexpr double far = 1e3, little = 1e-3;
  for (const double side : {-1.0, 1.0}) {
    const double here = phi.slope(side * far), next = phi.slope(side * (far + 1)),
                 last = phi.slope(side * (far + 2));
    if (!(std::fabs(here - 2 * next + last) <= little * std::fabs(here))) return false;
  }
  return true;
}

std::optional<Estimate> averaged(const Activation& phi, Moment moment, double variance) {
  try {
    const Estimate found = quadrature(phi, moment, {0, variance, {}});
    if (std::isfinite(found.value) && found.value > 0) return found;
  } catch (const Error&) {
  }
  return {};
}

double slope_kurtosis(double deviation) {
  return size_moments(Activation::named("tanh"), 0, deviation * deviation).slope_kurtosis;
}

TEST_CASE("averages of activations that settle over inputs of any size") {
  for (const ActivationInfo& info : activations()) {
    const Activation phi = Activation::named(info.name);
    if (!settles(phi)) continue;
    for (const double deviation : {1e-2, 1.0, 7.0, 40.0, 1e3, 1e5, 1e7}) {
      CAPTURE(info.name);
      CAPTURE(deviation);
      const double variance = deviation * deviation;
      const SizeMoments made = size_moments(phi, 0, variance);
      const auto agree = [&](Moment moment, double value, double more = 0) {
        const std::optional<Estimate> found = averaged(phi, moment, variance);
        if (!found || !std::isfinite(value)) return;
        CAPTURE(to_string(moment));
        CHECK(value ==
              testing::within(found->value, steps_error * found->value + found->error + more));
      };
      agree(Moment::second, made.second);
      if (!phi.has_jump()) agree(Moment::slope_second, made.slope, of_breaks(phi));
      agree(Moment::fourth, made.kurtosis * made.second * made.second);
    }
  }
}

TEST_CASE("slopes of a tanh far past its bound are those of a few features") {
  // E sech^4 of N(0, s^2) is 4/3 over (2 pi)^(1/2) s, E sech^8 32/35, less <x^2>/(2 s^2) of them,
  // <x^2> < 1: E phi'^4/(E phi'^2)^2 rises as s.
  for (const double deviation : {30.0, 1e3, 1e6, 1e9}) {
    const double expected = 18.0 / 35 * std::sqrt(2 * M_PI) * deviation;
    CHECK(slope_kurtosis(deviation) ==
          testing::within(expected, expected * (1.5 / (deviation * deviation) + steps_error)));
  }
}

TEST_CASE("steps and panels meet where an activation changes over two steps") {
  constexpr double meet = 1 / 0.08, beside = 1e-6;
  const double before = slope_kurtosis(meet * (1 - beside)),
               after = slope_kurtosis(meet * (1 + beside));
  // Of s^1 beside an error of the steps each.
  CHECK(after == testing::within(before, before * (2 * beside + 2 * steps_error)));
}

}  // namespace
}  // namespace scalecalc::moments
