#include "architectures/draw.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "scalecalc/error.hpp"

namespace scalecalc::architectures {
namespace {

Draw draw(const std::string& text, double fan_in = 12) {
  const Value size = fan_in;
  return draw_of(Expression::parse(text, "test"), [&](const std::string& name) -> const Value* {
    return name == "fan_in" ? &size : nullptr;
  });
}

/// Mean and std of `count` draws, and of each the standard error.
struct Sampled {
  double mean = 0, std = 0, error = 0;
};
template <class Sample>
Sampled sampled(Sample sample) {
  constexpr int kCount = 400000;
  std::mt19937_64 engine(5);
  double sum = 0, squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = sample(engine);
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kCount, std = std::sqrt(squares / kCount - mean * mean);
  return {mean, std, std / std::sqrt(static_cast<double>(kCount))};
}

void compare(const Draw& ours, const Sampled& theirs) {
  CHECK(std::fabs(ours.mean - theirs.mean) <= 5 * theirs.error);
  CHECK(std::fabs(ours.std - theirs.std) <= 5 * theirs.error);
}

}  // namespace

TEST_CASE("draws have the moments of what they draw") {
  std::normal_distribution<double> normal;
  compare(draw("truncated(0.5, -0.4, 2)"), sampled([&](auto& engine) {
            double x = 0;
            do {
              x = 0.5 * normal(engine);
            } while (x < -0.4 || x > 2);
            return x;
          }));
  std::uniform_real_distribution<double> unit(0, 1);
  compare(draw("torch()"),
          sampled([&](auto& engine) { return (2 * unit(engine) - 1) / std::sqrt(12.0); }));
  compare(draw("uniform(-1, 3)"), sampled([&](auto& engine) { return 4 * unit(engine) - 1; }));
  // Mamba: y with softplus(y) = dt, dt log-uniform on [0.001, 0.1].
  compare(draw("time_step(0.001, 0.1, 0.0001)"), sampled([&](auto& engine) {
            const double step = std::exp(std::log(1e-3) + unit(engine) * std::log(100.0));
            return std::log(std::expm1(step));
          }));
}

TEST_CASE("sinusoids are those that are written out") {
  constexpr int kRows = 40, kHalf = 24;
  double sum = 0, squares = 0;
  for (int t = 0; t < kRows; ++t)
    for (int i = 0; i < kHalf; ++i) {
      const double angle = t * std::exp(-std::log(1e4) / (kHalf - 1) * i);
      sum += std::sin(angle) + std::cos(angle);
      squares += std::pow(std::sin(angle), 2) + std::pow(std::cos(angle), 2);
    }
  const double count = 2.0 * kRows * kHalf, mean = sum / count;
  const Draw ours = draw("sinusoids(40, 48, 23)");
  // Roundings of some thousand sines.
  CHECK(std::fabs(ours.mean - mean) <= 1e-12);
  CHECK(std::fabs(ours.std - std::sqrt(squares / count - mean * mean)) <= 1e-12);
}

TEST_CASE("constants and lists have no spread but their own") {
  CHECK(draw("zeros()").std == 0);
  CHECK(draw("ones()").mean == 1);
  CHECK(draw("constant(0.1)").mean == doctest::Approx(0.1));
  CHECK(draw("log_range(1)").std == 0);
  CHECK(draw("log_range(2)").mean == doctest::Approx(std::log(2.0) / 2));
}

TEST_CASE("a draw that is none is refused") {
  for (const char* text : {"normal()", "normal(-1)", "gaussian(1)", "truncated(1)", "zeros(1)"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(draw(text), Error);
  }
}

TEST_CASE("draws say what fills the entries") {
  const auto is = [](const std::string& text, const char* kind,
                     const std::vector<double>& numbers) {
    CAPTURE(text);
    const LibraryDraw entries = draw(text).entries;
    CHECK(entries.kind == kind);
    CHECK(entries.numbers == numbers);
  };
  is("zeros()", "constant", {0});
  is("constant(0.25)", "constant", {0.25});
  is("normal(0.5)", "normal", {0, 0.5});
  is("normal(0.5, 2)", "normal", {2, 0.5});
  is("uniform(0.5)", "uniform", {-0.5, 0.5});
  is("uniform(1, 3)", "uniform", {1, 3});
  is("truncated(0.5, -1, 2)", "truncated_normal", {0.5, -1, 2});
  is("truncated(0.02, -2, 2)", "normal", {0, 0.02});  // nothing is cut
  is("truncated(0, -2, 2)", "constant", {0});
  is("torch()", "uniform", {-1 / std::sqrt(12.0), 1 / std::sqrt(12.0)});
  is("log_range(8)", "log_range", {});
  is("sinusoids(4, 6, 2)", "sinusoids", {2});
  is("sinusoid_pairs(4, 6, 3)", "sinusoid_pairs", {3});
  is("time_step(0.001, 0.1, 0.0001)", "time_step", {0.001, 0.1, 0.0001});
}

}  // namespace scalecalc::architectures
