#include "symbolic/bivariate_normal.hpp"

#include <cmath>
#include <fstream>
#include <sstream>

#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

struct Row {
  std::string function;
  std::vector<std::string> arguments;
  std::string value;
};

std::vector<Row> reference_rows() {
  std::ifstream file(std::string(SCALECALC_TABLES_DIR) + "/reference/bivariate_normal.csv");
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const std::size_t first = line.find(','), last = line.rfind(',');
    Row row{line.substr(0, first), {}, line.substr(last + 1)};
    std::stringstream list(line.substr(first + 1, last - first - 1));
    for (std::string argument; list >> argument;) row.arguments.push_back(argument);
    rows.push_back(std::move(row));
  }
  return rows;
}

Expr call(const Row& row) {
  std::vector<Expr> arguments;
  for (const std::string& argument : row.arguments) arguments.push_back(Rational::parse(argument));
  return Expr::function(row.function, arguments);
}

}  // namespace

TEST_CASE("Owen's T and the bivariate normal have the digits of the reference") {
  const std::vector<Row> rows = reference_rows();
  REQUIRE(rows.size() > 25);
  for (const Row& row : rows) {
    const Expr expr = call(row);
    INFO(to_string(expr));
    const double expected = Rational::parse(row.value).to_double();
    const Rational ratio = Rational::parse(evaluate_digits(expr, 36)) / Rational::parse(row.value);
    CHECK(std::fabs((ratio - Rational(1)).to_double()) < 1e-35);  // 36 digits
    const double value = evaluate(expr);
    if (row.function == "owens_t") {
      // exp(-h^2/2) magnifies the rounding of h^2/2.
      const double h = Rational::parse(row.arguments[0]).to_double();
      CHECK(std::fabs(value - expected) <= (8 + 2 * h * h) * 0x1p-53 * std::fabs(expected));
    } else {
      CHECK(std::fabs(value - expected) <= 4 * 0x1p-53);
    }
  }
}

TEST_CASE("their values at the ends of the range") {
  using symbolic::arithmetic::owens_t;
  using symbolic::arithmetic::phi2;
  const double far = INFINITY;
  CHECK(owens_t(1.0, 0.0) == 0);
  CHECK(owens_t(far, 1.0) == 0);
  CHECK(owens_t(0.5, far) == rounded(std::erfc(0.5 / std::sqrt(2.0)) / 4, 8));
  CHECK(owens_t(0.5, -far) == -owens_t(0.5, far));
  CHECK(owens_t(-0.5, 2.0) == owens_t(0.5, 2.0));
  CHECK(phi2(far, 0.3, 0.5) == rounded(phi2(0.3, far, -0.2), 8));
  CHECK(phi2(-far, 0.3, 0.5) == 0);
  CHECK(phi2(0.4, 0.3, 1.0) == rounded(phi2(0.3, far, 0.0), 8));
  CHECK(phi2(-0.4, 0.3, -1.0) == 0);
  CHECK(phi2(0.4, -0.3, -1.0) ==
        rounded((std::erf(0.4 / std::sqrt(2.0)) - std::erf(0.3 / std::sqrt(2.0))) / 2, 64));
  CHECK(std::isnan(phi2(0.1, 0.2, 1.5)));
  CHECK(std::isnan(owens_t(NAN, 1.0)));
  CHECK(evaluate_digits(formula("Phi2(2/5, -3/10, -1)"), 12) ==
        evaluate_digits(formula("Phi(2/5) + Phi(-3/10) - 1"), 12));
  CHECK(mentions(message_of([] { evaluate_digits(formula("Phi2(1, 2, 3/2)"), 5); }),
                 "no real value"));
}

TEST_CASE("a small probability keeps its digits") {
  // Symmetry: P(X < h, Y < k) + P(X < h, Y > k) = P(X < h), each found on its own.
  const Expr whole = formula("Phi2(-30, -10, 1/2) + Phi2(-30, 10, -1/2)");
  CHECK(evaluate_digits(whole, 40) == evaluate_digits(formula("Phi(-30)"), 40));
  // Independence, against the product of two tails.
  const Expr near_zero = formula("Phi2(-40, -41, 1/10^60)");
  CHECK(evaluate_digits(near_zero, 30) == evaluate_digits(formula("Phi(-40)*Phi(-41)"), 30));
}

TEST_CASE("known values and symmetries fold") {
  CHECK(written("owens_t(0, x)") == "atan(x)/(2*pi)");
  CHECK(written("owens_t(x, 0)") == "0");
  CHECK(written("owens_t(x, 1)") == "Phi(x)*Phi(-x)/2");
  CHECK(written("owens_t(-x, 2)") == "owens_t(x, 2)");
  CHECK(written("owens_t(x, -2)") == "-owens_t(x, 2)");
  CHECK(written("Phi2(0, 0, x)") == "acos(-x)/(2*pi)");
  CHECK(written("Phi2(x, y, 0)") == "Phi(x)*Phi(y)");
  CHECK(written("Phi2(y, x, z)") == "Phi2(x, y, z)");
  CHECK(written("Phi2(x, x, 1)") == "Phi(x)");
}

TEST_CASE("their derivatives agree with differences") {
  const Bindings point{{"x", 0.7}, {"y", -0.4}, {"z", 0.3}};
  for (const char* text : {"owens_t(x, y)", "Phi2(x, y, z)"}) {
    const Expr expr = formula(text);
    for (const char* symbol : {"x", "y", "z"}) {
      INFO(text, " by ", symbol);
      const double step = 1e-3;
      const auto at = [&](double change) {
        Bindings moved = point;
        moved[symbol] += change;
        return evaluate(expr, moved);
      };
      // Richardson: the error is of order step^4 times a fifth derivative of order 1.
      const double difference =
          (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
      // step^4 = 1e-12; eps/step = 2e-13.
      CHECK(std::fabs(evaluate(differentiate(expr, symbol), point) - difference) < 1e-11);
    }
  }
}

TEST_CASE("a wrong number of arguments is said") {
  CHECK(mentions(message_of([] { formula("owens_t(x)"); }), "owens_t takes 2 arguments, not 1"));
  CHECK(mentions(message_of([] { formula("Phi2(x, y)"); }), "Phi2 takes 3 arguments, not 2"));
}
