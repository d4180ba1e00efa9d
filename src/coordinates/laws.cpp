#include <cmath>

#include "base/statistics.hpp"
#include "scalecalc/coordinates.hpp"
#include "scalecalc/verify.hpp"

namespace scalecalc {
namespace {

/// Of the line through (log size, log root of the square).
std::optional<double> slope(const std::vector<double>& sizes, const std::vector<double>& squares) {
  std::vector<double> x, y;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!(squares[i] > 0) || !std::isfinite(squares[i])) return {};
    x.push_back(std::log(sizes[i]));
    y.push_back(std::log(squares[i]) / 2);
  }
  return fit_line(x, y).slope;
}

}  // namespace

std::optional<SizeLaw> measured_law(const std::vector<double>& sizes, const CoordinateSite& site,
                                    Coordinate coordinate, std::size_t step) {
  const auto at = [&](const CoordinatePoint& point) -> const std::vector<double>& {
    return (coordinate == Coordinate::value ? point.second : point.change).at(step);
  };
  std::vector<double> slopes;
  for (std::size_t seed = 0; seed < at(site.points.front()).size(); ++seed) {
    std::vector<double> squares;
    for (const CoordinatePoint& point : site.points) squares.push_back(at(point)[seed]);
    const std::optional<double> one = slope(sizes, squares);
    if (!one) return {};
    slopes.push_back(*one);
  }
  return SizeLaw{base::sample_mean(slopes), base::error_of_mean(slopes)};
}

std::optional<double> predicted_exponent(const std::vector<double>& sizes,
                                         const CoordinateSite& site, Coordinate coordinate,
                                         std::size_t step) {
  std::vector<double> squares;
  for (const CoordinatePoint& point : site.points)
    squares.push_back(predicted_square(point, coordinate, step).value);
  return slope(sizes, squares);
}

const Figure& predicted_square(const CoordinatePoint& point, Coordinate coordinate,
                               std::size_t step) {
  static const Figure unknown;
  if (coordinate == Coordinate::value) return point.predicted_second;
  return step < point.predicted_change.size() ? point.predicted_change[step] : unknown;
}

}  // namespace scalecalc
