#include <doctest/doctest.h>

#include <algorithm>

#include "support.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::tensor {
namespace {

OperationRun dropout_run(double rate, std::int64_t rows, std::uint64_t seed = 1, int threads = 1) {
  return {[=](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return drop(tape, {seed, stream_id("mask")}, rate, in[0]);
          },
          {{rows, 50, Vector(static_cast<std::size_t>(50 * rows), 1.0)}},
          threads};
}

}  // namespace

TEST_CASE("dropout: the kept share, and what is kept is divided by it") {
  for (const double rate : {0.1, 0.5, 0.9}) {
    CAPTURE(rate);
    const Vector y = dropout_run(rate, 1000).value();
    const auto dropped = std::ranges::count(y, 0.0),
               left = std::ranges::count(y, 1.0 / (1.0 - rate));
    CHECK(dropped + left == static_cast<std::ptrdiff_t>(y.size()));
    const double kept = static_cast<double>(left) / static_cast<double>(y.size());
    const double error = std::sqrt(rate * (1.0 - rate) / static_cast<double>(y.size()));
    CHECK(std::fabs(kept - (1.0 - rate)) < 4.5 * error);
  }
}

TEST_CASE("dropout: the gradient passes through the same mask") {
  const OperationRun run = dropout_run(0.3, 20);
  const Vector y = run.value(), dy = normal_values(y.size(), 5), dx = run.gradients(dy)[0];
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(dx[i] == y[i] * dy[i]);
}

TEST_CASE("dropout: entries that share a mask are kept or dropped together") {
  constexpr std::int64_t rows = 2000, columns = 50, shared = 3 * columns;
  for (const int threads : {1, 2}) {
    const OperationRun run{[=](Tape<double>& tape, const std::vector<Variable<double>>& in) {
                             return drop(tape, {7, stream_id("mask")}, 0.3, in[0], shared);
                           },
                           {{rows, columns, Vector(static_cast<std::size_t>(columns * rows), 1.0)}},
                           threads};
    const Vector y = run.value();
    std::int64_t kept = 0, groups = 0;
    for (std::size_t i = 0; i < y.size(); i += static_cast<std::size_t>(shared)) {
      const std::size_t end = std::min(y.size(), i + static_cast<std::size_t>(shared));
      CHECK(std::all_of(y.begin() + static_cast<std::ptrdiff_t>(i),
                        y.begin() + static_cast<std::ptrdiff_t>(end),
                        [&](double v) { return v == y[i]; }));
      kept += y[i] != 0 ? 1 : 0;
      ++groups;
    }
    const double share = static_cast<double>(kept) / static_cast<double>(groups);
    CHECK(std::fabs(share - 0.7) < 4.5 * std::sqrt(0.21 / static_cast<double>(groups)));
    const Vector dy = normal_values(y.size(), 5), dx = run.gradients(dy)[0];
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(dx[i] == y[i] * dy[i]);
  }
}

TEST_CASE("dropout: the mask depends on its stream, not on the number of threads") {
  const Vector y = dropout_run(0.3, 1000).value();
  CHECK(y == dropout_run(0.3, 1000, 1, 2).value());
  CHECK(y != dropout_run(0.3, 1000, 2).value());
  const Vector first = dropout_run(0.3, 3).value();
  CHECK(first == Vector(y.begin(), y.begin() + 150));
}

}  // namespace scalecalc::tensor
