#include "tensor/element_update.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "support.hpp"

namespace scalecalc::tensor {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

/// theta, gradient, first, second of one entry after one update.
Vector after(const ElementUpdate& update, Vector entry) {
  make_device<double>("cpu", 1)->update(update, 1, &entry[0], &entry[1], &entry[2], &entry[3]);
  return entry;
}

}  // namespace

TEST_CASE("element update: what each rule writes") {
  ElementUpdate u;
  u.rate = 0.5;
  u.decay = 0.25;
  u.scale = 2.0;
  u.beta1 = 0.5;
  u.beta2 = 0.75;
  u.limit = 5.0;
  const auto run = [&](ElementRule rule, double coupled = 0.0) {
    u.rule = rule;
    u.coupled_decay = coupled;
    return after(u, {8.0, 3.0, 4.0, 16.0});
  };
  // h = 6, or 2 with a coupled decay of -1/2.
  CHECK(run(ElementRule::clip) == Vector{8.0, 5.0, 4.0, 16.0});
  CHECK(run(ElementRule::descent) == Vector{3.0, 3.0, 4.0, 16.0});
  CHECK(run(ElementRule::descent, -0.5) == Vector{5.0, 3.0, 4.0, 16.0});
  CHECK(run(ElementRule::momentum) == Vector{2.0, 3.0, 8.0, 16.0});
  CHECK(run(ElementRule::nesterov) == Vector{1.0, 3.0, 8.0, 16.0});
  CHECK(run(ElementRule::momentum_only) == Vector{8.0, 8.0, 8.0, 16.0});
  CHECK(run(ElementRule::nesterov_only) == Vector{8.0, 10.0, 8.0, 16.0});
  CHECK(run(ElementRule::lion) == Vector{5.5, 3.0, 4.5, 16.0});
  CHECK(run(ElementRule::lion, -2.0) == Vector{6.5, 3.0, 0.5, 16.0});
  // first = 5, second = 0.75 * 16 + 0.25 * (36 + 16) = 25.
  u.eps = 16.0;
  CHECK(run(ElementRule::root_mean_square) == Vector{8.0, 6.0 / 5.0, 4.0, 25.0});
  // h = 6, or 8 with a coupled decay of 1/4: second = 0.75 * 16 + 0.25 * 36 = 21, or 16 + 64 = 80.
  u.eps = 1.0;
  CHECK(run(ElementRule::rmsprop) ==
        Vector{8.0 - (0.5 * (6.0 / (std::sqrt(21.0) + 1.0)) + 0.25 * 8.0), 3.0, 4.0, 21.0});
  CHECK(run(ElementRule::adagrad, 0.25) ==
        Vector{8.0 - (0.5 * (8.0 / (std::sqrt(80.0) + 1.0)) + 0.25 * 8.0), 3.0, 4.0, 80.0});
  // h = 4: first = 4, second = 16; a = 4/(4 * 2 + 0) = 1/2.
  u.eps = 0.0;
  u.second_correction = 2.0;
  CHECK(run(ElementRule::adam, -0.25) == Vector{5.75, 3.0, 4.0, 16.0});
  CHECK(run(ElementRule::adam_only, -0.25) == Vector{8.0, 2.25, 4.0, 16.0});
}

TEST_CASE("element update: signs keep what is not a number") {
  CHECK(sign_of(-0.5) == -1.0);
  CHECK(sign_of(0.0) == 0.0);
  CHECK(std::isnan(sign_of(NAN)));
  CHECK(std::isnan(clamped(static_cast<double>(NAN), 1.0)));
}

TEST_CASE("element update: averages of square sums, over several tiles") {
  const std::int64_t rows = 210, columns = 170;
  const Vector x = normal_values(static_cast<std::size_t>(rows * columns), 1);
  Vector by_row(static_cast<std::size_t>(rows), 2.0);
  Vector by_column(static_cast<std::size_t>(columns), 3.0);
  const auto device = make_device<double>("cpu", 2);
  device->average_square_sums(rows, columns, 0.75, 0.5, x.data(), by_row.data(), by_column.data());
  Vector in_rows(by_row.size(), 0.0), in_columns(by_column.size(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    in_rows[i / 170] += x[i] * x[i] + 0.5;
    in_columns[i % 170] += x[i] * x[i] + 0.5;
  }
  // A sum of n positive numbers is off by at most n eps of itself.
  for (std::size_t i = 0; i < by_row.size(); ++i) {
    CHECK(by_row[i] == doctest::Approx(1.5 + 0.25 * in_rows[i]).epsilon(2.0 * 170.0 * kEps));
  }
  for (std::size_t j = 0; j < by_column.size(); ++j) {
    CHECK(by_column[j] == doctest::Approx(2.25 + 0.25 * in_columns[j]).epsilon(2.0 * 210.0 * kEps));
  }
  Vector divided = x;
  device->divide_by_factored_root(rows, columns, by_row.data(), by_column.data(), 7.0,
                                  divided.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = by_row[i / 170] * by_column[i % 170] / 7.0;
    CHECK(std::fabs(divided[i] - x[i] / std::sqrt(v)) <= 8.0 * kEps * std::fabs(divided[i]));
  }
}

TEST_CASE("element update: factors whose product leaves the range of float do not") {
  const auto device = make_device<float>("cpu", 1);
  std::vector<float> x = {1e-14F, -2e-14F, 1e-14F, 2e-14F}, row(2, 0.0F), column(2, 0.0F);
  device->average_square_sums(2, 2, 0.0, 1e-30, x.data(), row.data(), column.data());
  device->divide_by_factored_root(2, 2, row.data(), column.data(), 2.0 * row[0], x.data());
  // Both rows have 5e-28, the columns 2e-28 and 8e-28.
  for (const float u : x) CHECK(std::fabs(std::fabs(u) - 1.0) < 0.01);
}

}  // namespace scalecalc::tensor
