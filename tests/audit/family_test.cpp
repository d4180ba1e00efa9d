#include "audit/family.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::audit_room;

namespace {

Sample sample_of(const std::vector<double>& values) {
  Sample sample;
  sample.count = static_cast<std::int64_t>(values.size());
  double m2 = 0, m4 = 0;
  for (const double x : values) sample.mean += x / static_cast<double>(values.size());
  for (const double x : values) {
    const double square = (x - sample.mean) * (x - sample.mean);
    m2 += square;
    m4 += square * square;
  }
  const auto n = static_cast<double>(values.size());
  sample.std = std::sqrt(m2 / n);
  sample.kurtosis = n * m4 / (m2 * m2);
  return sample;
}

std::vector<double> draws(Start start, std::size_t count, std::mt19937_64& random) {
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<double>(draw_unit(start, random));
  return values;
}

}  // namespace

TEST_CASE("moments of the families, integrated") {
  // Midpoint rule, whose error on a smooth bounded density is far below the tolerance.
  const Family& cut = family_of(Start::truncated_normal);
  double mass = 0, second = 0, fourth = 0, sixth = 0, eighth = 0;
  constexpr int steps = 200000;
  for (int i = 0; i < steps; ++i) {
    const double x = -2 + 4 * (i + 0.5) / steps, density = std::exp(-x * x / 2), q = x * x;
    mass += density;
    second += density * q;
    fourth += density * q * q;
    sixth += density * q * q * q;
    eighth += density * q * q * q * q;
  }
  second /= mass;
  // 4e-10 = (4/steps)^2 of a second derivative, and 2e5 roundings.
  CHECK(cut.kurtosis == doctest::Approx(fourth / mass / std::pow(second, 2)).epsilon(1e-9));
  CHECK(cut.sixth == doctest::Approx(sixth / mass / std::pow(second, 3)).epsilon(1e-9));
  CHECK(cut.eighth == doctest::Approx(eighth / mass / std::pow(second, 4)).epsilon(1e-9));
  CHECK(cut.bound == doctest::Approx(2 / 0.8796256610342398).epsilon(1e-13));
  const Family& flat = family_of(Start::uniform);
  CHECK(flat.kurtosis == doctest::Approx(1.8));
  CHECK(flat.sixth == doctest::Approx(27.0 / 7));
  CHECK(flat.eighth == doctest::Approx(9));
  CHECK(family_of(Start::orthogonal).kurtosis == 3);
}

TEST_CASE("right samples leave each band as often as they may") {
  constexpr int runs = 20000;
  constexpr double confidence = 0.99;
  const Bands bands(1, confidence);
  // Of 200 expected, 6 standard deviations more; half a per mille is left to the approximations.
  const double most = (1 - confidence) * runs + 6 * std::sqrt((1 - confidence) * runs) + 10;
  std::mt19937_64 random(8);
  for (const Start start : {Start::normal, Start::truncated_normal, Start::uniform})
    for (const std::size_t count : {2u, 5u, 32u, 150u, 1000u}) {
      const Family& family = family_of(start);
      int outside_std = 0, outside_kurtosis = 0, outside_range = 0;
      const Bands::Ratio ratio = bands.std_ratio(family, static_cast<std::int64_t>(count));
      for (int run = 0; run < runs; ++run) {
        const std::vector<double> values = draws(start, count, random);
        const Sample sample = sample_of(values);
        outside_std += sample.std < ratio.low || sample.std > ratio.high ? 1 : 0;
        outside_kurtosis += bands.kurtosis_fits(family, sample) ? 0 : 1;
        double farthest = 0;
        for (const double x : values) farthest = std::max(farthest, std::abs(x));
        outside_range += bands.extreme_fits(family, sample.count, farthest * (1 - 1e-6)) ? 0 : 1;
      }
      CAPTURE(to_string(start));
      CAPTURE(count);
      CHECK(outside_std <= most);
      CHECK(outside_kurtosis <= most);
      CHECK(outside_range <= most);
      if (start == Start::normal) CHECK(outside_std > 100);
    }
}

TEST_CASE("a family is told from the others once there are enough values") {
  const Bands bands(1000, 0.99);
  std::mt19937_64 random(8);
  for (const Start start : {Start::normal, Start::truncated_normal, Start::uniform}) {
    const Sample sample = sample_of(draws(start, 3000, random));
    for (const Family& family : families()) {
      CAPTURE(to_string(start));
      CAPTURE(to_string(family.start));
      CHECK(bands.kurtosis_fits(family, sample) == (family.start == start));
    }
  }
}

TEST_CASE("the band of a large normal sample is its standard error times the quantile") {
  const Bands bands(200, 0.99);
  const std::int64_t count = 10'000'000;
  const Bands::Ratio ratio = bands.std_ratio(Family{}, count);
  const double expected = bands.quantile() * std_error(Family{}, count);
  CHECK(std_error(Family{}, count) == doctest::Approx(1 / std::sqrt(2e7)));
  // The next order in the band, which is its own half width.
  CHECK(ratio.high - 1 == doctest::Approx(expected).epsilon(0.01));
  CHECK(1 - ratio.low == doctest::Approx(expected).epsilon(0.01));
  CHECK(std_error(family_of(Start::uniform), count) == doctest::Approx(std::sqrt(0.8 / 4e7)));
}
