#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace scalecalc::gaussian::monte_carlo {

/// Count, mean and squared deviations of a set of numbers, so that sets can be joined without
/// losing digits.
struct Tally {
  double count = 0, mean = 0, deviations = 0;

  /// Not below what the rounding of numbers of this size leaves.
  double standard_error() const {
    const double size = std::sqrt(mean * mean + deviations / count);
    return std::sqrt(deviations / (count * (count - 1.0))) + 0x1p-52 * size;
  }
};

/// Chan, Golub and LeVeque 1983.
inline Tally join(const Tally& a, const Tally& b) {
  if (a.count == 0.0) return b;
  if (b.count == 0.0) return a;
  const double count = a.count + b.count, difference = b.mean - a.mean;
  return {count, a.mean + difference * (b.count / count),
          a.deviations + b.deviations + difference * difference * (a.count * b.count / count)};
}

inline Tally tally(std::span<const double> values) {
  Tally out{static_cast<double>(values.size()), 0.0, 0.0};
  for (const double value : values) out.mean += value / out.count;
  double rest = 0;
  for (const double value : values) {
    rest += value - out.mean;
    out.deviations += (value - out.mean) * (value - out.mean);
  }
  out.mean += rest / out.count;
  return out;
}

/// Joins by halves, always in the same order.
inline Tally join(std::span<const Tally> tallies) {
  if (tallies.empty()) return {};
  if (tallies.size() == 1) return tallies.front();
  const std::size_t half = tallies.size() / 2;
  return join(join(tallies.first(half)), join(tallies.subspan(half)));
}

}  // namespace scalecalc::gaussian::monte_carlo
