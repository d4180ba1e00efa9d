#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/plot/frame.hpp"
#include "report/plot/lettering.hpp"

/// Ticks stand at steps of 1, 2 or 5 times a power of ten; on a logarithmic axis at powers of ten,
/// or, within three of them, at 1, 2 and 5 times each.
namespace scalecalc::report {
namespace {

constexpr double kManyDecades = 1e3;  // from which only powers of ten are labelled

/// The least of 1, 2, 5, 10, ... and their like that is not below `step`.
double round_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

/// How many multiples of a step lie within.
double multiples_in(const Range& range, double step) {
  return std::floor(range.most / step) - std::ceil(range.least / step) + 1;
}

std::string label_of(double value, double step) {
  if (std::abs(value) < 1e-9 * step) return "0";
  const double digits = std::log10(std::abs(value) / step) + 2;
  return format_number(value, std::clamp(static_cast<int>(digits), 2, 12));
}

std::vector<Tick> linear_ticks(const Range& range, int most, bool whole = false) {
  const double least_step = (range.most - range.least) / std::max(most, 1);
  double step = round_step(whole ? std::max(least_step, 1.0) : least_step);
  const double finer = round_step(step / 2.6);
  if (multiples_in(range, step) < 2 && !(whole && finer < 1)) step = finer;
  std::vector<Tick> ticks;
  const double first = std::ceil(range.least / step), last = std::floor(range.most / step);
  for (double i = first; i <= last && ticks.size() < 100; ++i) {
    ticks.push_back({i * step, label_of(i * step, step)});
  }
  return ticks;
}

struct Decades {
  int first = 0, last = -1;
};

Decades decades_in(const Range& range) {
  return {static_cast<int>(std::ceil(std::log10(range.least) - 1e-9)),
          static_cast<int>(std::floor(std::log10(range.most) + 1e-9))};
}

/// As powers of ten where one of them is far from 1.
std::vector<Tick> decade_ticks(const Range& range, int most) {
  constexpr int kPlain = 3;
  const auto [first, last] = decades_in(range);
  const int stride = std::max(1, (last - first + most) / std::max(most, 1));
  std::vector<int> exponents;
  for (int i = first; i <= last; ++i) {
    if (i % stride == 0) exponents.push_back(i);
  }
  const bool plain =
      std::ranges::all_of(exponents, [](int exponent) { return std::abs(exponent) <= kPlain; });
  std::vector<Tick> ticks;
  for (const int exponent : exponents) {
    const double at = std::pow(10.0, exponent);
    ticks.push_back({at, plain ? format_number(at, 3) : "10" + superscript(exponent)});
  }
  return ticks;
}

std::vector<Tick> one_two_five(const Range& range) {
  std::vector<Tick> ticks;
  for (int i = static_cast<int>(std::floor(std::log10(range.least)));
       std::pow(10.0, i) <= range.most; ++i) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double at = factor * std::pow(10.0, i);
      if (at >= range.least && at <= range.most) ticks.push_back({at, format_number(at, 3)});
    }
  }
  return ticks;
}

std::vector<Tick> log_ticks(const Range& range, int most) {
  if (range.most / range.least < kManyDecades) {
    const std::vector<Tick> fine = one_two_five(range);
    if (fine.size() >= 3 && static_cast<int>(fine.size()) <= most + 3) return fine;
  }
  std::vector<Tick> ticks = decade_ticks(range, most);
  if (ticks.size() >= 2) return ticks;
  ticks = linear_ticks(range, most);
  std::erase_if(ticks, [](const Tick& tick) { return tick.at <= 0; });
  return ticks;
}

std::vector<Tick> every(std::size_t stride, const std::vector<Tick>& ticks) {
  std::vector<Tick> kept;
  for (std::size_t i = 0; i < ticks.size(); i += stride) kept.push_back(ticks[i]);
  return kept;
}

}  // namespace

std::vector<Tick> ticks_of(const Axis& axis, const Range& range, int most) {
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < axis.names.size(); ++i) {
    ticks.push_back({static_cast<double>(i), axis.names[i]});
  }
  for (const double at : axis.ticks) {
    if (at >= range.least && at <= range.most) ticks.push_back({at, format_number(at, 6)});
  }
  const auto room = static_cast<std::size_t>(std::max(most, 1));
  if (!ticks.empty()) return every((ticks.size() + room - 1) / room, ticks);
  return is_log(axis) ? log_ticks(range, most) : linear_ticks(range, most, axis.whole);
}

std::vector<double> minor_ticks(const Axis& axis, const Range& range) {
  constexpr int kFew = 6, kMany = 40;  // decades
  std::vector<double> places;
  const Decades decades = is_log(axis) ? decades_in(range) : Decades{};
  const int count = decades.last - decades.first;
  if (!is_log(axis) || count > kMany) return places;
  for (int i = decades.first - 1; i <= decades.last; ++i) {
    for (int factor = 1; factor < (count > kFew ? 2 : 10); ++factor) {
      const double at = factor * std::pow(10.0, i);
      if (at >= range.least && at <= range.most) places.push_back(at);
    }
  }
  return places;
}

}  // namespace scalecalc::report
