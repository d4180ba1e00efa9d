#include <doctest/doctest.h>

#include <cmath>

#include "scalecalc/scaling.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

ScalingSolution adam_at(std::int64_t layers) {
  ScalingProblem problem;
  problem.layers = layers;
  return solve_scaling(problem);
}

const InitEntry& entry(const std::vector<InitEntry>& table, const std::string& kind) {
  for (const InitEntry& row : table)
    if (row.kind == kind) return row;
  throw Error(ErrorKind::input, "no " + kind);
}

}  // namespace

TEST_CASE("std per parameter kind") {
  const ScalingSolution found = adam_at(50);
  const auto table = init_table(found, 50, "lecun", {64, 256, 0});
  CHECK(*entry(table, "q").std_value == rounded(1.0 / 8, 8));
  CHECK(*entry(table, "v").std_value == rounded(0.1 / 8, 8));
  CHECK(*entry(table, "ffn_in").std_value == rounded(0.1 / 8, 8));
  CHECK(*entry(table, "ffn_out").std_value == rounded(0.1 / 16, 8));
  CHECK(*entry(table, "embedding").std_value == 1.0);
  CHECK(*entry(table, "head").std_value == rounded(1.0 / 8, 8));
  CHECK(*init_table(found, 50, "xavier", {64, 256, 0})[4].std_value ==
        rounded(0.1 * std::sqrt(2.0 / 320), 8));
  CHECK(*init_table(found, 50, "he", {64, 256, 0})[5].std_value ==
        rounded(0.1 * std::sqrt(2.0 / 256), 8));
}

TEST_CASE("without widths there are formulas and no values") {
  const auto table = init_table(adam_at(50), 50, "lecun", {});
  CHECK_FALSE(entry(table, "v").std_value);
  CHECK(to_string(entry(table, "v").std) == "(2*N*width)^(-1/2)");
  CHECK(entry(table, "v").std_formula == "(2*N)^(-1/2)*width^(-1/2)");
  CHECK(entry(table, "q").std_formula == "width^(-1/2)");
  CHECK(entry(table, "v").gain_value == rounded(0.1, 8));
  CHECK_THROWS_AS(init_table(adam_at(50), 50, "xaver", {}), Error);
}
