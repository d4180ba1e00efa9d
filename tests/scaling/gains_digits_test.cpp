#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "scalecalc/gains.hpp"

// tables/reference/solutions.csv: critical points, fixed points and tuned scales by mpmath, 40
// digits.

using namespace scalecalc;

namespace {

using Digits = std::map<std::string, std::string>;

/// {problem, activation, weight variance, bias variance}.
using Problem = std::vector<std::string>;

std::map<Problem, Digits> read_rows() {
  std::ifstream file(SCALECALC_TABLES_DIR "/reference/solutions.csv");
  std::map<Problem, Digits> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::stringstream cells(line);
    std::vector<std::string> row(6);
    for (std::string& cell : row) std::getline(cells, cell, ',');
    rows[{row[0], row[1], row[2], row[3]}][row[4]] = row[5];
  }
  return rows;
}

Digits solved(const Problem& problem, int digits) {
  const Activation phi = Activation::named(problem[1]);
  if (problem[0] == "tuned") return tuned_digits(phi, tuned(phi), 1, digits);
  std::optional<Rational> bias;
  if (!problem[3].empty()) bias = Rational::parse(problem[3]);
  if (problem[0] == "critical") {
    const Critical known = bias ? solve_critical(phi, bias->to_double()) : solve_critical_pair(phi);
    return critical_digits(phi, known, bias, digits);
  }
  const Rational weight = Rational::parse(problem[2]);
  const auto points = solve_fixed_points(phi, weight.to_double(), bias->to_double());
  return fixed_point_digits(phi, points.front(), weight, *bias, digits);
}

/// Whether two positive decimals are within a unit of the last of `digits` digits.
bool agree(const std::string& a, const std::string& b, int digits) {
  const Rational x = Rational::parse(a), y = Rational::parse(b);
  const Rational unit = y * Rational::parse("1e-" + std::to_string(digits - 1));
  return x < y + unit && y - unit < x;
}

}  // namespace

TEST_CASE("solutions have the digits of the reference") {
  const int digits = 25;
  const auto rows = read_rows();
  REQUIRE(rows.size() == 4);
  for (const auto& [problem, reference] : rows) {
    CAPTURE(problem[0]);
    CAPTURE(problem[1]);
    Digits found = solved(problem, digits);
    for (const auto& [name, value] : reference) {
      CAPTURE(name);
      REQUIRE(found.count(name) == 1);
      CHECK_MESSAGE(agree(found[name], value, digits), found[name]);
    }
  }
}

TEST_CASE("solutions that are exact come out exact") {
  const Activation relu = Activation::named("relu"), tanh = Activation::named("tanh");
  const Digits critical = critical_digits(relu, solve_critical(relu, 0), Rational(0), 50);
  CHECK(Rational::parse(critical.at("weight_variance")) == 2);
  CHECK(Rational::parse(critical.at("q_star")) == 1);
  const Digits origin = critical_digits(tanh, solve_critical(tanh, 0), Rational(0), 50);
  CHECK(Rational::parse(origin.at("weight_variance")) == 1);

  const auto odd = solve_fixed_points(tanh, 3, 0);
  CHECK(fixed_point_digits(tanh, odd.front(), 3, 0, 30).at("c_star") == "0");
  const auto dead = solve_fixed_points(tanh, 0.5, 0);
  const Digits zero = fixed_point_digits(tanh, dead.front(), Rational(1, 2), 0, 30);
  CHECK(zero.at("q_star") == "0");
  CHECK(Rational::parse(zero.at("chi")) == Rational(1, 2));
  CHECK(tuned_digits(tanh, tuned(tanh), 1, 30).at("shift") == "0");
}

TEST_CASE("what is infinite has no digits") {
  const Activation jump = Activation::named("hardshrink");
  const auto points = solve_fixed_points(jump, 4, 0);
  for (const FixedPoint& point : points) {
    CHECK(fixed_point_digits(jump, point, 4, 0, 20).count("chi") == 0);
  }
  CHECK(tuned_digits(jump, tuned(jump), 1, 20).count("slope_before") == 0);
}
