#include "audit/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace scalecalc::audit_room {
namespace {

using weights::Dtype;

/// Bits of precision, the leading one included.
int precision(Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16: return 8;
    case Dtype::f16: return 11;
    case Dtype::f32:
    case Dtype::f64:
    case Dtype::other: break;
  }
  return 24;
}

/// The least number that is rounded to `edge` or above, where edge is a number of that precision.
double rounded_edge(double edge, Dtype dtype) {
  int exponent = 0;
  std::frexp(edge, &exponent);
  return edge - std::ldexp(0.5, exponent - precision(dtype));
}

/// Cubic Hermite interpolation between (0, low) and (1, high), with the slopes that the steps on
/// either side allow a monotone curve (Fritsch and Butland 1984).
double monotone(double t, double low, double high, double step_before, double step_after) {
  const double step = high - low;
  const auto slope = [](double a, double b) { return a * b > 0 ? 2 * a * b / (a + b) : 0; };
  const double left = slope(step_before, step), right = slope(step, step_after);
  const double u = 1 - t;
  return low * (1 + 2 * t) * u * u + left * t * u * u + high * t * t * (3 - 2 * t) -
         right * t * t * u;
}

}  // namespace

template <class Real>
void Histogram::add(const Real* values, std::size_t count) {
  constexpr std::size_t block = 256;
  constexpr int shift = 23 - mantissa_bits;
  constexpr std::int32_t base = (127 + least_exponent) << mantissa_bits;
  constexpr auto last = static_cast<std::int32_t>(bins) - 1;
  std::array<std::int32_t, block> bin;
  for (std::size_t at = 0; at < count; at += block) {
    const std::size_t size = std::min(block, count - at);
    for (std::size_t i = 0; i < size; ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(values[at + i]));
      const auto place = static_cast<std::int32_t>((bits & 0x7FFFFFFFu) >> shift) - base;
      const std::int32_t inside = place < 0 ? 0 : place > last ? last : place;
      bin[i] = inside + (bits >> 31 != 0 ? static_cast<std::int32_t>(bins) : 0);
    }
    std::size_t i = 0;
    for (; i + 2 <= size; i += 2) {
      ++counts_[0][static_cast<std::size_t>(bin[i])];
      ++counts_[1][static_cast<std::size_t>(bin[i + 1])];
    }
    for (; i < size; ++i) ++counts_[0][static_cast<std::size_t>(bin[i])];
  }
}

template void Histogram::add(const float*, std::size_t);
template void Histogram::add(const double*, std::size_t);

void Histogram::add(const Histogram& other) {
  for (std::size_t half = 0; half < 2; ++half)
    for (std::size_t bin = 0; bin < 2 * bins; ++bin) counts_[half][bin] += other.counts_[half][bin];
}

std::uint64_t Histogram::count_in(std::size_t bin, bool negative) const {
  const std::size_t at = bin + (negative ? bins : 0);
  return counts_[0][at] + counts_[1][at];
}

double Histogram::count_all(bool negative) const {
  std::uint64_t total = 0;
  for (std::size_t bin = 0; bin < bins; ++bin) total += count_in(bin, negative);
  return static_cast<double>(total);
}

double Histogram::count_below(double magnitude, bool negative, Dtype dtype) const {
  const auto edge = [dtype](std::size_t bin) {
    const auto octave = static_cast<int>(bin >> mantissa_bits);
    const double part = static_cast<double>(bin % (std::size_t{1} << mantissa_bits));
    return rounded_edge(std::ldexp(1 + std::ldexp(part, -mantissa_bits), octave + least_exponent),
                        dtype);
  };
  double below = 0;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const auto here = static_cast<double>(count_in(bin, negative));
    if (bin + 1 < bins && edge(bin + 1) <= magnitude) {
      below += here;
      continue;
    }
    const auto beside = [&](std::size_t other) {
      return other < bins ? static_cast<double>(count_in(other, negative)) : 0.0;
    };
    const double low = bin == 0 ? 0 : edge(bin), high = edge(bin + 1);
    const double t = std::clamp((magnitude - low) / (high - low), 0.0, 1.0);
    return monotone(t, below, below + here, beside(bin - 1), beside(bin + 1));
  }
  return below;
}

double Histogram::share_below(double x, Dtype dtype) const {
  const double positive = count_all(false), negative = count_all(true);
  const double total = positive + negative;
  if (total == 0) return std::numeric_limits<double>::quiet_NaN();
  if (x >= 0) return (negative + count_below(x, false, dtype)) / total;
  return (negative - count_below(-x, true, dtype)) / total;
}

}  // namespace scalecalc::audit_room
