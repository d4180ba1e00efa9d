#include "audit/central_moments.hpp"

#include <algorithm>
#include <cstring>

#include "base/vector_math/lanes.hpp"

namespace scalecalc::audit_room {
namespace {

using base::vector_math::lanes;
using Doubles = base::vector_math::Real;

template <class Real>
inline Doubles load(const Real* values) {
  typedef Real Reals __attribute__((vector_size(lanes * sizeof(Real))));
  Reals loaded;
  std::memcpy(&loaded, values, sizeof loaded);
  return __builtin_convertvector(loaded, Doubles);
}

double sum(const Doubles& terms) {
  double total = 0;
  for (std::size_t k = 0; k < lanes; ++k) total += terms[k];
  return total;
}

struct Range {
  double mean = 0, min = 0, max = 0;
};

template <class Real>
Range range(const Real* values, std::size_t count) {
  const std::size_t whole = count / lanes * lanes;
  const auto first = static_cast<double>(values[0]);
  double total = 0, least = first, most = first;
  if (whole > 0) {
    Doubles terms = {}, low = load(values), high = low;
    for (std::size_t i = 0; i < whole; i += lanes) {
      const Doubles x = load(values + i);
      terms += x;
      low = x < low ? x : low;
      high = x > high ? x : high;
    }
    total = sum(terms);
    for (std::size_t k = 0; k < lanes; ++k) {
      least = std::min(least, low[k]);
      most = std::max(most, high[k]);
    }
  }
  for (std::size_t i = whole; i < count; ++i) {
    const auto x = static_cast<double>(values[i]);
    total += x;
    least = std::min(least, x);
    most = std::max(most, x);
  }
  return {total / static_cast<double>(count), least, most};
}

/// Lane by lane.
struct PowerSums {
  Doubles second = {}, third = {}, fourth = {};

  void add(const Doubles& x) {
    const Doubles square = x * x;
    second += square;
    third += square * x;
    fourth += square * square;
  }
};

}  // namespace

template <class Real>
CentralMoments central_moments(const Real* values, std::size_t count) {
  CentralMoments result;
  if (count == 0) return result;
  const Range found = range(values, count);
  result.count = static_cast<std::int64_t>(count);
  result.mean = found.mean;
  result.min = found.min;
  result.max = found.max;
  const std::size_t whole = count / lanes * lanes;
  PowerSums even, odd;  // in turn, so that a sum need not wait for the one before it
  std::size_t at = 0;
  for (; at + 2 * lanes <= whole; at += 2 * lanes) {
    even.add(load(values + at) - found.mean);
    odd.add(load(values + at + lanes) - found.mean);
  }
  for (; at < whole; at += lanes) even.add(load(values + at) - found.mean);
  result.m2 = sum(even.second + odd.second);
  result.m3 = sum(even.third + odd.third);
  result.m4 = sum(even.fourth + odd.fourth);
  for (std::size_t i = whole; i < count; ++i) {
    const double x = static_cast<double>(values[i]) - found.mean;
    const double square = x * x;
    result.m2 += square;
    result.m3 += square * x;
    result.m4 += square * square;
  }
  return result;
}

template CentralMoments central_moments(const float*, std::size_t);
template CentralMoments central_moments(const double*, std::size_t);

/// P. Pebay, "Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
/// statistical moments", Sandia report SAND2008-6212, equations 2.1 and 3.1.
void CentralMoments::add(const CentralMoments& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  const auto a = static_cast<double>(count), b = static_cast<double>(other.count);
  const double n = a + b, delta = other.mean - mean, step = delta / n;
  m4 += other.m4 + a * b * (a * a - a * b + b * b) * step * step * step * delta +
        6 * (a * a * other.m2 + b * b * m2) * step * step + 4 * (a * other.m3 - b * m3) * step;
  m3 += other.m3 + a * b * (a - b) * step * step * delta + 3 * (a * other.m2 - b * m2) * step;
  m2 += other.m2 + a * b * step * delta;
  mean += b * step;
  count += other.count;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

}  // namespace scalecalc::audit_room
