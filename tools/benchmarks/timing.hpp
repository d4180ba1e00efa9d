#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

/// What the benchmark programs share. Each prints one line a measurement, tab-separated:
/// work, value, unit, target.
namespace scalecalc::bench {

inline double seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

/// The p-th quantile, 0..1, by the nearest rank.
inline double quantile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(p * static_cast<double>(values.size()));
  return values.at(static_cast<std::size_t>(std::max(1.0, rank)) - 1);
}

/// Microseconds for one of the `calls` that one `round()` makes: the median of 31 batches of 2 ms
/// or more. A round returns a sum of its results, so that none is left out.
template <class Round>
double microseconds(std::size_t calls, Round round) {
  constexpr double shortest = 2e-3;
  constexpr int batches = 31;
  volatile double sink = round();
  const auto batch = [&](int rounds) {
    const double start = seconds();
    for (int k = 0; k < rounds; ++k) sink = sink + round();
    return seconds() - start;
  };
  int rounds = 1;
  while (batch(rounds) < shortest) rounds *= 2;
  std::vector<double> times;
  for (int k = 0; k < batches; ++k) times.push_back(batch(rounds));
  return median(std::move(times)) * 1e6 /
         (static_cast<double>(rounds) * static_cast<double>(calls));
}

inline void print(const std::string& work, double value, const char* unit, const char* target) {
  std::printf("%s\t%.6g\t%s\t%s\n", work.c_str(), value, unit, target);
  std::fflush(stdout);
}

}  // namespace scalecalc::bench
