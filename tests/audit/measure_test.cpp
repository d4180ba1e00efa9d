#include "audit/measure.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::audit_room;
using weights::Dtype;
using weights::Reader;

namespace {

Weights one_tensor(std::vector<std::int64_t> shape, std::vector<float> values) {
  return {{"x", {std::move(shape), std::move(values)}}};
}

std::vector<Sample> measured(const Weights& weights, std::vector<std::int64_t> bounds,
                             Dtype dtype = Dtype::f32, int threads = 1) {
  const WeightsFolder folder;
  store(weights, folder.file(), dtype);
  const Reader reader(folder.file());
  return measure(reader, reader.tensors()[0], {std::move(bounds)}, threads);
}

}  // namespace

TEST_CASE("tails, kurtosis and range of large samples of every form and dtype") {
  constexpr std::int64_t count = 400'000;
  std::mt19937_64 random(4);
  struct Expected {
    Start start;
    double kurtosis, beyond_2, beyond_3, most;
  };
  // P(|x| > 2 std) of the truncated normal: its std is 0.8796 of the parent's.
  const double cut = 2 * 0.8796256610342398;
  const double inside = std::erf(2 / std::sqrt(2.0));
  const double beyond_cut = (inside - std::erf(cut / std::sqrt(2.0))) / inside;
  for (const Expected& expected :
       {Expected{Start::normal, 3, std::erfc(2 / std::sqrt(2.0)), std::erfc(3 / std::sqrt(2.0)), 7},
        Expected{Start::truncated_normal, 2.36559, beyond_cut, 0, 2.2737},
        Expected{Start::uniform, 1.8, 0, 0, 1.7321}})
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      std::vector<float> values(count);
      for (float& value : values) value = 0.02f * draw_unit(expected.start, random);
      const Sample sample = measured(one_tensor({count}, values), {0, count}, dtype)[0];
      CAPTURE(to_string(expected.start));
      CHECK(sample.count == count);
      // Five standard errors; the variance of a share p of n is p (1 - p)/n.
      const double root = std::sqrt(static_cast<double>(count));
      const auto share = [&](double p) { return 5 * std::sqrt(p * (1 - p)) / root + 1e-9; };
      CHECK(std::abs(sample.mean) <= 5 * 0.02 / root);
      CHECK(std::abs(sample.std / 0.02 - 1) <= 5 / root / std::sqrt(2.0) + 0x1p-16);
      CHECK(std::abs(sample.kurtosis - expected.kurtosis) <= 5 * std::sqrt(24.0) / root);
      CHECK(std::abs(sample.beyond_2 - expected.beyond_2) <= share(expected.beyond_2));
      CHECK(std::abs(sample.beyond_3 - expected.beyond_3) <= share(expected.beyond_3));
      CHECK(sample.max <= 0.02 * expected.most * (1 + 0x1p-8));
      CHECK(sample.min >= -0.02 * expected.most * (1 + 0x1p-8));
    }
}

TEST_CASE("parts lie side by side along the columns, on any number of threads") {
  constexpr std::int64_t rows = 700, columns = 300;
  std::mt19937_64 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const std::int64_t column = i % columns;
    values.push_back(normal(random) * (column < 100 ? 1.0f : column < 130 ? 2.0f : 4.0f));
  }
  const Weights weights = one_tensor({rows, columns}, values);
  const std::vector<Sample> one = measured(weights, {0, 100, 130, 300});
  REQUIRE(one.size() == 3);
  for (std::size_t part = 0; part < 3; ++part) {
    const std::int64_t width = part == 0 ? 100 : part == 1 ? 30 : 170;
    double total = 0, squares = 0;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const std::int64_t column = i % columns;
      if ((column < 100 ? 0u : column < 130 ? 1u : 2u) != part) continue;
      total += values[static_cast<std::size_t>(i)];
      squares += static_cast<double>(values[static_cast<std::size_t>(i)]) *
                 values[static_cast<std::size_t>(i)];
    }
    const auto n = static_cast<double>(rows * width);
    CHECK(one[part].count == rows * width);
    // Both sums round n times.
    CHECK(one[part].mean == doctest::Approx(total / n).epsilon(1e-9));
    CHECK(one[part].std == doctest::Approx(std::sqrt(squares / n - total / n * total / n)));
  }
  for (const int threads : {2, 3, 8}) {
    const std::vector<Sample> many = measured(weights, {0, 100, 130, 300}, Dtype::f32, threads);
    for (std::size_t part = 0; part < 3; ++part) {
      CHECK(many[part].std == one[part].std);
      CHECK(many[part].kurtosis == one[part].kurtosis);
      CHECK(many[part].beyond_2 == one[part].beyond_2);
    }
  }
}

TEST_CASE("constants, single values and none") {
  const auto of = [](std::vector<float> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return measured(one_tensor({count}, std::move(values)), {0, count})[0];
  };
  const Sample ones = of(std::vector<float>(100'000, 1.0f));
  CHECK(ones.mean == 1);
  CHECK(ones.std == 0);
  CHECK(std::isnan(ones.kurtosis));
  CHECK(of({3.0f}).max == 3);
  CHECK(of({}).count == 0);
  const Sample tenth = of(std::vector<float>(100'000, 0.1f));
  CHECK(tenth.std == 0);
  CHECK(tenth.mean == static_cast<double>(0.1f));
}

TEST_CASE("what is not finite is counted and left out") {
  std::vector<float> values(200'000, 2.0f);
  values[5] = values[70'000] = NAN;
  values[199'999] = INFINITY;
  values[100] = -INFINITY;
  values[200] = 1.0f;
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    const Sample sample = measured(one_tensor({200'000}, values), {0, 200'000}, dtype, 2)[0];
    CHECK(sample.nans == 2);
    CHECK(sample.infinities == 2);
    CHECK(sample.count == 199'996);
    CHECK(sample.min == 1);
    CHECK(sample.max == 2);
    // A sum of 2e5 terms near 2, each rounded once, added in blocks.
    CHECK(sample.mean == doctest::Approx(2 - 1.0 / 199'996).epsilon(1e-12));
  }
  const Sample none = measured(one_tensor({2}, {NAN, NAN}), {0, 2})[0];
  CHECK(none.count == 0);
  CHECK(none.nans == 2);
  CHECK(none.mean == 0);
}
