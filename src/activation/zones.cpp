#include "activation/zones.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "activation/enclosure.hpp"
#include "activation/zone_fit.hpp"
#include "base/vector_math.hpp"

namespace scalecalc::activation_room {
namespace {

namespace vm = base::vector_math;

/// Below this, steps of the computation underflow and lose digits.
constexpr double negligible = 0x1p-1000;
constexpr double near_zero = 0x1p-30;
constexpr int deepest_split = 7;

/// Sizes |x| to look at, rising.
std::vector<double> sizes(Measure measure) {
  if (measure == Measure::near_zero) {
    return {0x1.7p-100, 0x1.5p-60, 0x1.3p-40, 0x1.1p-27, 0x1.7p-20, 0x1.3p-12,
            0x1.1p-7,   0x1.9p-5,  0x1.5p-4,  0x1.3p-3,  0x1.7p-3,  0x1.3p-2,
            0x1.1p-1,   0x1.7p-1,  0x1.1p0,   0x1.7p0,   0x1.3p1};
  }
  std::vector<double> all;
  const auto add = [&](double from, double to, double step) {
    for (double k = from; k < to; k += step) all.push_back(1.0117 * std::exp2(k));
  };
  for (const double k : {-700, -300, -140, -80}) add(k, k + 1, 1);
  add(-40, -10, 1);
  add(-10, 8, 0.25);
  add(8, 20, 1);
  add(20, 1020, 100);
  return all;
}

struct Span {
  double low, high;
};

/// Runs of inaccurate samples, from the second good one before to the second after: the error
/// swings. A run that reaches the sample nearest to 0 reaches 0 itself.
std::vector<Span> inaccurate_spans(const Expr& expr, const Compute& code,
                                   const std::vector<double>& samples, double first, double last,
                                   double units) {
  constexpr int calm = 2;
  std::vector<Span> spans;
  double before[calm] = {first, first};
  int good = calm;
  for (const double x : samples) {
    if (is_accurate(expr, x, code(x), units)) {
      if (good < calm && ++good == calm) spans.back().high = x;
      before[0] = std::exchange(before[1], x);
    } else {
      if (good == calm) spans.push_back({before[0], last});
      good = 0;
    }
  }
  return spans;
}

std::vector<double> samples_between(double low, double high, Measure measure, int side) {
  std::vector<double> samples;
  for (const double size : sizes(measure)) {
    const double x = side * size;
    if (x > low && x < high) samples.push_back(x);
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

bool is_accurate_over(const Expr& expr, const Zone& zone) {
  const int points = zone.exponential != 0 ? 8 : 24;
  for (int k = 0; k <= points; ++k) {
    // Halves towards 0 where the zone ends there: the order must hold all the way.
    double x = std::clamp(zone.low + (zone.high - zone.low) * k / points, zone.low, zone.high);
    if (zone.low == 0) x = zone.high * std::exp2(-k * 1.3);
    if (zone.high == 0) x = zone.low * std::exp2(-k * 1.3);
    double padded[vm::lanes], value[vm::lanes] = {};
    std::fill_n(padded, vm::lanes, x);
    zone.apply(expr, padded, value, vm::lanes);
    if (!is_accurate(expr, x, value[0], measured_units)) return false;
  }
  return true;
}

void cover_by_bits(const Span& span, std::vector<Zone>& zones) {
  Zone zone;
  zone.low = span.low;
  zone.high = span.high;
  zone.by_bits = true;
  zones.push_back(zone);
}

void cover_near(const Expr& expr, const Span& span, int depth, std::vector<Zone>& zones) {
  Zone zone;
  zone.low = span.low;
  zone.high = span.high;
  if (fit(expr, zone) && is_accurate_over(expr, zone)) {
    zones.push_back(zone);
  } else if (depth < deepest_split) {
    const double middle = span.low + (span.high - span.low) / 2;
    cover_near(expr, {span.low, middle}, depth + 1, zones);
    cover_near(expr, {middle, span.high}, depth + 1, zones);
  } else {
    cover_by_bits(span, zones);
  }
}

/// Far out, where inputs hardly are, by bits: a sum of fractions that cancel loses digits
/// everywhere. The span is on one side of 0.
void cover(const Expr& expr, const Span& span, std::vector<Zone>& zones) {
  constexpr double largest_fitted = 64;
  const double inner_low = std::max(span.low, -largest_fitted);
  const double inner_high = std::min(span.high, largest_fitted);
  if (inner_low >= inner_high) return cover_by_bits(span, zones);
  if (span.low < inner_low) cover_by_bits({span.low, inner_low}, zones);
  cover_near(expr, {inner_low, inner_high}, 0, zones);
  if (inner_high < span.high) cover_by_bits({inner_high, span.high}, zones);
}

}  // namespace

bool is_accurate(const Expr& expr, double x, double value, double units) {
  const double tolerance = units * std::numeric_limits<double>::epsilon();
  const double exact = value_at(expr, x);
  if (std::isnan(exact) || exact == value) return true;
  if (!std::isfinite(value) || !std::isfinite(exact)) return false;
  const double error = std::fabs(value - exact);
  if (error <= tolerance * std::fabs(exact) + negligible) return true;
  constexpr double step = 0x1p-30;
  const double change = (value_at(expr, x * (1 + step)) - exact) / step;
  return error <= tolerance * (std::fabs(exact) + std::fabs(change)) + negligible;
}

std::vector<Zone> find_zones(const Expr& expr, const Compute& code, double low, double high,
                             Measure measure, double units) {
  std::vector<Zone> zones;
  for (const int side : {-1, 1}) {
    const double first = side < 0 ? low : std::max(low, 0.0);
    const double last = side < 0 ? std::min(high, 0.0) : high;
    if (first >= last) continue;
    const std::vector<double> samples = samples_between(low, high, measure, side);
    for (Span span : inaccurate_spans(expr, code, samples, first, last, units)) {
      // Values that underflow are 0 in either form, and look accurate.
      if (first == 0 && span.low < near_zero) span.low = 0;
      if (last == 0 && span.high > -near_zero) span.high = 0;
      cover(expr, span, zones);
    }
  }
  return zones;
}

void Zone::apply(const Expr& expr, const double* x, double* y, std::size_t count) const {
  for (std::size_t i = 0; i < count; i += vm::lanes) {
    const vm::Real at = vm::load(x + i);
    const vm::Int inside = (at >= low) & (at <= high);
    if (!vm::any(inside)) continue;
    if (by_bits) {
      for (std::size_t k = i; k < i + vm::lanes; ++k) {
        if (inside[k - i]) y[k] = value_at(expr, x[k]);
      }
      continue;
    }
    vm::Real value = vm::polynomial((vm::clamp(at, low, high) - centre) * scale, coefficients);
    if (exponential != 0) value = static_cast<double>(exponential) * vm::exp(value);
    for (int k = 0; k < order; ++k) value = value * at;
    vm::store(inside ? value : vm::load(y + i), y + i);
  }
}

}  // namespace scalecalc::activation_room
