#include <doctest/doctest.h>

#include <limits>

#include "support.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::tensor {
namespace {

OperationRun column_run(bool centred, double eps, Input x, std::int64_t rows, int threads = 1) {
  return {[=](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return normalise_columns(tape, centred, eps, in[0], rows);
          },
          {std::move(x)},
          threads};
}
OperationRun row_run(bool centred, double eps, Input x) {
  return {[=](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return normalise(tape, centred, eps, in[0]);
          },
          {std::move(x)}};
}

/// The transpose of `count` rows from `first` on.
Vector transposed(const Vector& x, std::size_t first, std::size_t count, std::size_t columns) {
  Vector out;
  for (std::size_t i = 0; i < columns; ++i) {
    for (std::size_t row = first; row < first + count; ++row) out.push_back(x[row * columns + i]);
  }
  return out;
}

}  // namespace

TEST_CASE("column norms: each group is the row norm of its transpose, forward and backward") {
  constexpr std::size_t kGroups = 3, kRows = 7, kWidth = 70;
  const Input x = random_input(kGroups * kRows, kWidth, 1);
  const Vector dy = normal_values(x.values.size(), 2);
  for (const bool centred : {true, false}) {
    for (const double eps : {0.0, 0.4}) {
      const OperationRun run = column_run(centred, eps, x, kRows);
      const Vector y = run.value(), dx = run.gradients(dy)[0];
      for (std::size_t group = 0; group < kGroups; ++group) {
        const auto part = [&](const Vector& of) {
          return transposed(of, group * kRows, kRows, kWidth);
        };
        const OperationRun rows = row_run(centred, eps, {kWidth, kRows, part(x.values)});
        const double rounding = 20.0 * kRows * std::numeric_limits<double>::epsilon();
        CHECK(distance(rows.value(), part(y)) < rounding * norm(part(y)));
        CHECK(distance(rows.gradients(part(dy))[0], part(dx)) < rounding * norm(dy));
      }
    }
  }
}

TEST_CASE("column norms: backward against central differences") {
  for (const bool centred : {true, false}) {
    CHECK(column_run(centred, 0.0, random_input(8, 5, 3), 4).worst_gradient_error() <
          kSharpDifferences);
    CHECK(column_run(centred, 0.3, random_input(6, 1, 4), 3).worst_gradient_error() <
          10 * kDifferences);
  }
}

TEST_CASE("column norms: a column without variance gives zeros, a NaN stays in its column") {
  const Input constant{4, 3, Vector(12, 0.5)};
  const Vector dy = normal_values(12, 3);
  CHECK(column_run(true, 0.0, constant, 4).value() == Vector(12, 0.0));
  CHECK(column_run(true, 0.0, constant, 4).gradients(dy)[0] == Vector(12, 0.0));
  CHECK(column_run(true, 0.0, constant, 1).value() == Vector(12, 0.0));
  // Its mean, a sum of thirds, is not exactly one of them; the columns beside it are as ever.
  Input thirds = random_input(50, 3, 6);
  const Vector without = column_run(true, 0.0, thirds, 50).value();
  for (std::size_t row = 0; row < 50; ++row) thirds.values[3 * row + 1] = 1.0 / 3.0;
  Vector expected = without;
  for (std::size_t row = 0; row < 50; ++row) expected[3 * row + 1] = 0.0;
  CHECK(column_run(true, 0.0, thirds, 50).value() == expected);
  Input broken = random_input(4, 3, 5);
  broken.values[4] = NAN;
  const Vector y = column_run(true, 0.0, broken, 4).value();
  CHECK(std::isnan(y[1]));
  CHECK(std::isfinite(y[0]));
}

TEST_CASE("column norms: the number of threads does not change a bit") {
  const Input x = random_input(60, 300, 2);
  const Vector dy = normal_values(60 * 300, 4);
  CHECK(column_run(true, 0.1, x, 20, 1).value() == column_run(true, 0.1, x, 20, 2).value());
  CHECK(column_run(true, 0.1, x, 20, 1).gradients(dy) ==
        column_run(true, 0.1, x, 20, 2).gradients(dy));
}

}  // namespace scalecalc::tensor
