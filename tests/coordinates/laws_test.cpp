#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "scalecalc/coordinates.hpp"

using namespace scalecalc;

namespace {

/// A site whose rms goes as `scale` size^power at step 1, for one scale a seed.
CoordinateSite site_of_power(const std::vector<double>& sizes, double power,
                             const std::vector<double>& scales) {
  CoordinateSite site{"site", "linear", {}};
  for (const double size : sizes) {
    CoordinatePoint point;
    std::vector<double> squares;
    for (const double scale : scales) {
      const double rms = scale * std::pow(size, power);
      squares.push_back(rms * rms);
    }
    point.second = {squares, squares};
    point.change = {std::vector<double>(scales.size()), squares};
    point.predicted_change = {{}, {std::pow(size, 2 * power), 0, 0}};
    site.points.push_back(point);
  }
  return site;
}

}  // namespace

TEST_CASE("measured_law: a power is found at any scale, and its error is that over seeds") {
  const std::vector<double> sizes = {32, 64, 128, 512};
  for (const double power : {-1.0, -0.5, 0.0, 0.25, 1.0}) {
    CAPTURE(power);
    const CoordinateSite site = site_of_power(sizes, power, {0.5, 3, 40});
    const auto law = measured_law(sizes, site, Coordinate::change, 1);
    REQUIRE(law);
    // Rounding of logarithms below 10, and a sum of four.
    CHECK(std::abs(law->exponent - power) < 1e-14);
    CHECK(law->standard_error < 1e-14);
    CHECK(std::abs(*predicted_exponent(sizes, site, Coordinate::change) - power) < 1e-14);
  }
}

TEST_CASE("measured_law: slopes of two seeds give their mean and half their distance") {
  const std::vector<double> sizes = {10, 100};
  CoordinateSite site = site_of_power(sizes, 0, {1, 1});
  site.points[1].change[1] = {100, 1};  // rms 10 and 1: the powers 1 and 0
  const auto law = measured_law(sizes, site, Coordinate::change, 1);
  REQUIRE(law);
  CHECK(law->exponent == doctest::Approx(0.5));
  CHECK(law->standard_error == doctest::Approx(0.5));
}

TEST_CASE("measured_law: none of what does not move, nor of infinities; no error of one seed") {
  const std::vector<double> sizes = {10, 100};
  CoordinateSite site = site_of_power(sizes, 1, {1});
  CHECK_FALSE(measured_law(sizes, site, Coordinate::change, 0));
  CHECK(std::isnan(measured_law(sizes, site, Coordinate::change, 1)->standard_error));
  site.points[0].change[1][0] = INFINITY;
  CHECK_FALSE(measured_law(sizes, site, Coordinate::change, 1));
  site.points[0].predicted_change = {};
  CHECK_FALSE(predicted_exponent(sizes, site, Coordinate::change));
  CHECK_FALSE(predicted_exponent(sizes, site, Coordinate::value));
}
