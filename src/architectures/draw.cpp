#include "architectures/draw.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "scalecalc/error.hpp"

namespace scalecalc::architectures {
namespace {

double density(double z) {
  return std::isinf(z) ? 0 : std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
}
double below(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

Draw constant(double value) {
  return {"constant", value, 0, {"constant", {value}}};
}
Draw normal(double mean, double std) {
  return {"normal", mean, std, {"normal", {mean, std}}};
}

/// N(0, std^2) on [a, b]; Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions
/// 1, 13.10.
Draw truncated(double std, double a, double b) {
  const double low = a / std, high = b / std;
  if (low < -8 && high > 8)
    return {"normal", 0, std, {"normal", {0, std}}, a};  // one value in 10^15 is cut
  const LibraryDraw entries{"truncated_normal", {std, a, b}};
  if (high - low < 1e-4)
    return {"truncated_normal", (a + b) / 2, (b - a) / std::sqrt(12.0), entries};
  const double weight = below(high) - below(low);
  const double mean = (density(low) - density(high)) / weight;
  const double slope = (low * density(low) - high * density(high)) / weight;
  return {"truncated_normal", std * mean, std * std::sqrt(1 + slope - mean * mean), entries};
}

/// Mean and standard deviation of f(u), u uniform on [0, 1], by the midpoint rule.
template <class Function>
Draw over_uniform(int points, LibraryDraw entries, Function f) {
  double sum = 0, squares = 0;
  for (int i = 0; i < points; ++i) {
    const double value = f((i + 0.5) / points);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / points;
  const double std = std::sqrt(std::max(0.0, squares / points - mean * mean));
  return {"values", mean, std, std::move(entries)};
}

/// sin and cos of t/10000^(i/steps), t < rows, i < columns/2. The squares of the two add up to 1;
/// sum_t e^(itw) = e^(i(rows - 1)w/2) sin(rows w/2)/sin(w/2).
Draw sinusoids(const std::string& kind, std::int64_t rows, std::int64_t columns, double steps) {
  const LibraryDraw entries{kind, {steps}};
  const auto count = static_cast<double>(rows);
  const std::int64_t half = columns / 2;
  if (rows == 0 || half == 0) return {"values", 0, 0, entries};
  double sum = 0;
  for (std::int64_t i = 0; i < half; ++i) {
    const double w = i == 0 ? 1 : std::pow(1e4, -static_cast<double>(i) / steps);
    const double middle = (count - 1) * w / 2;
    sum += std::sin(count * w / 2) / std::sin(w / 2) * (std::sin(middle) + std::cos(middle));
  }
  const double mean = sum / (count * static_cast<double>(2 * half));
  return {"values", mean, std::sqrt(0.5 - mean * mean), entries};
}

Draw uniform(double low, double high) {
  if (!(low <= high))
    throw Error(ErrorKind::input, fmt::format("a uniform draw from {} to {}", low, high), "",
                "the first must not be above the second");
  return {"uniform", (low + high) / 2, (high - low) / std::sqrt(12.0), {"uniform", {low, high}}};
}

}  // namespace

Draw draw_of(const Expression& call, const Lookup& names) {
  const std::string& name = call.name();
  const std::vector<Expression>& given = call.operands();
  const auto number = [&](std::size_t i) { return given[i].number(names); };
  const auto takes = [&](std::size_t count) { return given.size() == count; };
  const auto size = [&](const char* of) {
    const Value* value = names(of);
    if (value == nullptr) throw Error(ErrorKind::input, std::string(of) + " is of matrices alone");
    return value->get<double>();
  };
  const auto positive = [&](double std) {
    if (!(std >= 0) || !std::isfinite(std))
      throw Error(ErrorKind::input, fmt::format("the std {} is {}", given[0].text(), std), "",
                  "it must be a number of at least 0");
    return std;
  };
  if (name == "zeros" && takes(0)) return constant(0);
  if (name == "ones" && takes(0)) return constant(1);
  if (name == "constant" && takes(1)) return constant(number(0));
  if (name == "normal" && takes(1)) return normal(0, positive(number(0)));
  if (name == "normal" && takes(2)) return normal(number(1), positive(number(0)));
  if (name == "truncated" && takes(3)) {
    const double std = positive(number(0));
    return std == 0 ? constant(0) : truncated(std, number(1), number(2));
  }
  if (name == "uniform" && takes(1)) return uniform(-number(0), number(0));
  if (name == "uniform" && takes(2)) return uniform(number(0), number(1));
  if (name == "torch" && takes(0)) {
    const double bound = 1 / std::sqrt(size("fan_in"));
    return uniform(-bound, bound);
  }
  if (name == "log_range" && takes(1)) {
    const auto count = static_cast<int>(given[0].count(names));
    return over_uniform(count, {"log_range", {}},
                        [&](double u) { return std::log(std::floor(u * count) + 1); });
  }
  if ((name == "sinusoids" || name == "sinusoid_pairs") && takes(3))
    return sinusoids(name, given[0].count(names), given[1].count(names), number(2));
  if (name == "time_step" && takes(3)) {
    const double low = std::log(number(0)), high = std::log(number(1)), least = number(2);
    constexpr int points = 4000;  // a kink or none, off by 1/points^2
    return over_uniform(points, {"time_step", {number(0), number(1), least}}, [&](double u) {
      const double step = std::max(least, std::exp(low + u * (high - low)));
      return step + std::log(-std::expm1(-step));
    });
  }
  throw Error(ErrorKind::input, "there is no such draw: " + call.text());
}

}  // namespace scalecalc::architectures
