#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace scalecalc::base {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double sample_mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double sample_median(std::vector<double> values) {
  if (std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); }))
    return unknown;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double sample_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = sample_mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double error_of_mean(const std::vector<double>& values) {
  if (values.size() < 2) return unknown;
  return sample_deviation(values) / std::sqrt(static_cast<double>(values.size()));
}

}  // namespace scalecalc::base
