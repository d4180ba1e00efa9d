#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "moment_names.hpp"
#include "scalecalc/gaussian.hpp"

// tables/reference/closed_form.csv: moments by direct quadrature in mpmath, 30 digits in one
// dimension and 22 in two.

namespace scalecalc {
namespace {

struct Row {
  std::string activation, moment, q, mu, c, value;
};

std::vector<Row> rows() {
  std::ifstream file(std::string(SCALECALC_TABLES_DIR) + "/reference/closed_form.csv");
  std::vector<Row> all;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::stringstream cells(line);
    Row row;
    for (std::string* cell : {&row.activation, &row.moment, &row.q, &row.mu, &row.c, &row.value}) {
      std::getline(cells, *cell, ',');
    }
    all.push_back(row);
  }
  return all;
}

TEST_CASE("closed forms have the digits of the reference") {
  int seen = 0;
  for (const Row& row : rows()) {
    INFO(row.activation, " ", row.moment, " q=", row.q, " mu=", row.mu, " c=", row.c);
    const Activation phi = Activation::named(row.activation);
    const Moment moment = moment_of(row.moment);
    const bool pair = is_pair(moment);
    const Rational q = Rational::parse(row.q), mu = Rational::parse(row.mu);
    const Rational c = pair ? Rational::parse(row.c) : Rational(0);
    GaussianInput input{mu.to_double(), q.to_double(), std::nullopt};
    if (pair) input.correlation = c.to_double();
    const std::optional<Estimate> value = closed_form_value(phi, moment, input);
    REQUIRE(value);
    CHECK(value->method == Method::closed_form);
    ++seen;
    if (row.value == "0") {
      CHECK(std::fabs(value->value) < 1e-20);  // below the noise of the quadrature
      continue;
    }
    // The reference is rounded to at least 22 digits: its own error is far below an epsilon.
    const double expected = Rational::parse(row.value).to_double();
    CHECK(std::fabs(value->value - expected) <= 4 * 0x1p-53 * std::fabs(expected));
    CHECK(value->error <= 4 * 0x1p-53 * std::fabs(expected));
    const int digits = pair ? 20 : 28;
    const std::optional<Expr> correlation = pair ? std::optional<Expr>(c) : std::nullopt;
    const auto text = closed_form_digits(phi, moment, mu, q, correlation, digits);
    REQUIRE(text);
    const Rational difference = Rational::parse(*text) / Rational::parse(row.value) - Rational(1);
    CHECK(std::fabs(difference.to_double()) < 5 * std::pow(10.0, -digits + 1));
  }
  CHECK(seen > 700);
}

}  // namespace
}  // namespace scalecalc
