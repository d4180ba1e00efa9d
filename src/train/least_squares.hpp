#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace scalecalc::train_room {

/// value[0] + value[1] x + ...
template <std::size_t count>
struct Polynomial {
  std::array<double, count> value = {};
  std::array<std::array<double, count>, count> covariance = {};
  bool has_error = false;  ///< whether the covariance is known
};

/// By Gauss and Jordan, of a matrix that is symmetric and positive.
template <std::size_t count>
std::array<std::array<double, count>, count> inverse(
    std::array<std::array<double, count>, count> of) {
  std::array<std::array<double, count>, count> made = {};
  for (std::size_t i = 0; i < count; ++i) made[i][i] = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const double pivot = of[i][i];
    for (std::size_t j = 0; j < count; ++j) {
      of[i][j] /= pivot;
      made[i][j] /= pivot;
    }
    for (std::size_t k = 0; k < count; ++k) {
      if (k == i) continue;
      const double factor = of[k][i];
      for (std::size_t j = 0; j < count; ++j) {
        of[k][j] -= factor * of[i][j];
        made[k][j] -= factor * made[i][j];
      }
    }
  }
  return made;
}

/// Least squares, each point weighted by the inverse of its variance; without `variances` (or of
/// some that are 0) all weigh the same, and the scatter about the polynomial tells what they are.
/// At least `count` points of different x. The covariance grows by chi^2/(points - count) where
/// that is above 1.
template <std::size_t count>
Polynomial<count> fit_polynomial(const std::vector<double>& x, const std::vector<double>& y,
                                 const std::vector<double>& variances) {
  const bool is_weighted =
      !variances.empty() && std::ranges::all_of(variances, [](double of) { return of > 0; });
  std::array<std::array<double, count>, count> normal = {};
  std::array<double, count> right = {};
  const auto weight = [&](std::size_t i) { return is_weighted ? 1 / variances[i] : 1.0; };
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < count; ++j) {
      right[j] += weight(i) * std::pow(x[i], j) * y[i];
      for (std::size_t k = 0; k < count; ++k) normal[j][k] += weight(i) * std::pow(x[i], j + k);
    }
  Polynomial<count> fit;
  fit.covariance = inverse(normal);
  for (std::size_t j = 0; j < count; ++j)
    for (std::size_t k = 0; k < count; ++k) fit.value[j] += fit.covariance[j][k] * right[k];
  double chi = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double left = y[i];
    for (std::size_t j = 0; j < count; ++j) left -= fit.value[j] * std::pow(x[i], j);
    chi += weight(i) * left * left;
  }
  const double freedom = static_cast<double>(x.size()) - static_cast<double>(count);
  fit.has_error = is_weighted || freedom > 0;
  if (!fit.has_error) return fit;
  const double scale = freedom > 0 ? chi / freedom : 1.0;
  for (auto& row : fit.covariance)
    for (double& of : row) of *= is_weighted ? std::max(1.0, scale) : scale;
  return fit;
}

}  // namespace scalecalc::train_room
