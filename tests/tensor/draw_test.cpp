#include "tensor/draw.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "tensor/shaping.hpp"

namespace scalecalc::tensor {
namespace {

std::vector<double> sample(Draw::Kind kind, std::int64_t count, std::uint64_t seed = 5,
                           double std = 1.0) {
  std::vector<double> values(static_cast<std::size_t>(count));
  fill(Draw{kind, std, {seed, stream_id("sample")}}, 0, count, values.data());
  return values;
}

double moment(const std::vector<double>& values, int power) {
  double sum = 0.0;
  for (const double x : values) sum += std::pow(x, power);
  return sum / static_cast<double>(values.size());
}

/// How many standard errors a sample moment is from the expected one.
double z_score(const std::vector<double>& values, int power, double expected) {
  const double variance = moment(values, 2 * power) - std::pow(moment(values, power), 2);
  return std::fabs(moment(values, power) - expected) /
         std::sqrt(variance / static_cast<double>(values.size()));
}

}  // namespace

TEST_CASE("one value at a time, as a CUDA thread draws it, gives the bits of a bulk draw") {
  for (const auto kind : {Draw::Kind::normal, Draw::Kind::uniform, Draw::Kind::truncated_normal}) {
    const Draw draw{kind, 0.37, {5, stream_id("sample")}};
    const Shaping shaping = shaping_of(draw);
    const std::vector<double> bulk = sample(kind, 20001, 5, 0.37);
    int different = 0;
    for (std::uint64_t i = 0; i < bulk.size(); ++i) {
      const base::Philox4 words = base::philox_block(draw.stream, i / 2);
      const double uniform =
          base::uniform_from_words(words.v[2 * (i % 2)], words.v[2 * (i % 2) + 1]);
      different += shaped(shaping, uniform) != bulk[i] ? 1 : 0;
    }
    CHECK(different == 0);
  }
}

TEST_CASE("draws have the moments of their distribution") {
  constexpr std::int64_t n = 1000000;
  const auto normal = sample(Draw::Kind::normal, n), uniform = sample(Draw::Kind::uniform, n),
             truncated = sample(Draw::Kind::truncated_normal, n);
  for (const auto* values : {&normal, &uniform, &truncated}) {
    CHECK(z_score(*values, 1, 0.0) < 4.0);
    CHECK(z_score(*values, 2, 1.0) < 4.0);
    CHECK(z_score(*values, 3, 0.0) < 4.0);
  }
  CHECK(z_score(normal, 4, 3.0) < 4.0);
  CHECK(z_score(normal, 6, 15.0) < 4.0);
  CHECK(z_score(uniform, 4, 9.0 / 5.0) < 4.0);
}

TEST_CASE("bounded distributions stay inside their bounds and reach them") {
  const auto uniform = sample(Draw::Kind::uniform, 200000, 6, 0.5);
  CHECK(*std::ranges::max_element(uniform) < 0.5 * std::numbers::sqrt3);
  CHECK(*std::ranges::max_element(uniform) > 0.499 * std::numbers::sqrt3);
  CHECK(*std::ranges::min_element(uniform) > -0.5 * std::numbers::sqrt3);
  // The correction of a normal cut at two standard deviations is 1.1368472
  // (docs/theory/gains.md#truncated-normal).
  const auto truncated = sample(Draw::Kind::truncated_normal, 200000);
  CHECK(*std::ranges::max_element(truncated) < 2.0 * 1.1368473);
  CHECK(*std::ranges::max_element(truncated) > 2.0 * 1.1360);
  CHECK(*std::ranges::min_element(truncated) > -2.0 * 1.1368473);
}

TEST_CASE("the truncated distribution function is right at its quartiles") {
  auto values = sample(Draw::Kind::truncated_normal, 400000);
  std::ranges::sort(values);
  const double correction = 1.13684723, mass = std::erf(std::numbers::sqrt2);
  // P(X < x) = (Phi(x/c) - Phi(-2)) / mass at x = c gives the share below one uncut deviation.
  const double share = 0.5 + 0.5 * std::erf(std::numbers::sqrt2 / 2.0) / mass;
  const auto below = std::ranges::lower_bound(values, correction) - values.begin();
  const double error = std::sqrt(share * (1.0 - share) / 400000.0);
  CHECK(std::fabs(static_cast<double>(below) / 400000.0 - share) < 4.0 * error);
}

TEST_CASE("a value depends on its stream and its index alone") {
  const Draw draw{Draw::Kind::normal, 0.7, {9, stream_id("a")}};
  std::vector<double> whole(3001);
  fill(draw, 0, 3001, whole.data());
  for (const std::int64_t first : {0, 2, 510, 512, 1026}) {
    for (const std::int64_t count : {1, 2, 511, 513}) {
      std::vector<double> part(static_cast<std::size_t>(count));
      fill(draw, static_cast<std::uint64_t>(first), count, part.data());
      CHECK(std::equal(part.begin(), part.end(), whole.begin() + first));
    }
  }
  std::vector<double> uniform(2000), shifted(1999);
  fill_uniform(draw.stream, 0, 2000, uniform.data());
  fill_uniform(draw.stream, 1, 1999, shifted.data());
  CHECK(std::equal(shifted.begin(), shifted.end(), uniform.begin() + 1));
}

TEST_CASE("float draws are the rounded double draws") {
  for (const auto kind : {Draw::Kind::normal, Draw::Kind::uniform, Draw::Kind::truncated_normal}) {
    const Draw draw{kind, 0.125, {1, 2}};
    std::vector<float> single(1000);
    std::vector<double> twice(1000);
    fill(draw, 0, 1000, single.data());
    fill(draw, 0, 1000, twice.data());
    CHECK(
        std::ranges::equal(single, twice, {}, {}, [](double x) { return static_cast<float>(x); }));
  }
}

TEST_CASE("streams of different names and seeds are unrelated") {
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(stream_id("block[" + std::to_string(i) + "].attn.q"));
  CHECK(ids.size() == 1000);
  constexpr std::int64_t n = 100000;
  const auto a = sample(Draw::Kind::normal, n, 1), b = sample(Draw::Kind::normal, n, 2);
  double product = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) product += a[i] * b[i];
  CHECK(std::fabs(product) < 4.0 * std::sqrt(static_cast<double>(n)));
}

TEST_CASE("indices are uniform over their range") {
  constexpr std::int64_t n = 70000;
  std::vector<std::int32_t> ids(n);
  fill_indices({1, 2}, 7, n, ids.data());
  const double expected = n / 7.0, error = std::sqrt(n * (1.0 / 7.0) * (6.0 / 7.0));
  for (std::int32_t id = 0; id < 7; ++id) {
    CHECK(std::fabs(static_cast<double>(std::ranges::count(ids, id)) - expected) < 4.5 * error);
  }
  fill_indices({1, 2}, 1, n, ids.data());
  CHECK(std::ranges::count(ids, 0) == n);
}

// A change of these digits changes every published measurement.
TEST_CASE("pinned values") {
  std::vector<double> values(2);
  fill(Draw{Draw::Kind::normal, 1.0, {0, 0}}, 0, 2, values.data());
  // From the known words of counter 0, key 0: u = (e169c58d6627e8d5 >> 11 | 1) 2^-53.
  const double u = static_cast<double>(0xe169c58d6627e8d5u >> 11 | 1u) * 0x1p-53;
  CHECK(values[0] == inverse_normal(u));
  CHECK(u == doctest::Approx(0.8805201978886142).epsilon(1e-15));
}

// In the tails e ln 2 dominates and one rounding is left; near 1 the quotient s and the sum add
// theirs.
TEST_CASE("the logarithm is within a unit of the last place in the tails, two elsewhere") {
  const auto worst = [](double from, double to) {
    double error = 0.0;
    for (int i = 0; i <= 100000; ++i) {
      const double x = from * std::pow(to / from, i / 100000.0);
      const long double exact = std::log(static_cast<long double>(x));
      const double ulp = std::ldexp(1.0, std::ilogb(static_cast<double>(exact)) - 52);
      error = std::max(error, static_cast<double>(std::fabs(natural_log(x) - exact)) / ulp);
    }
    return error;
  };
  CHECK(worst(0x1p-60, 0.075) < 1.0);
  CHECK(worst(0.075, 0.9999) < 2.0);
  CHECK(worst(1.0001, 1e6) < 2.0);
  CHECK(natural_log(1.0) == 0.0);
}

}  // namespace scalecalc::tensor
