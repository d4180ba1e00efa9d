#include <fstream>

#include "support.hpp"
#include "symbolic/evaluate.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

std::string digits_of(const char* text, int digits) {
  return evaluate_digits(formula(text), digits);
}

/// expression,digits,value where a quoted expression may hold commas.
struct Row {
  std::string expression, value;
  int digits = 0;
};

std::vector<Row> reference_rows() {
  std::ifstream file(std::string(SCALECALC_TABLES_DIR) + "/reference/symbolic.csv");
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const std::size_t last = line.rfind(','), middle = line.rfind(',', last - 1);
    rows.push_back({line.substr(0, middle), line.substr(last + 1),
                    std::stoi(line.substr(middle + 1, last - middle - 1))});
  }
  return rows;
}

}  // namespace

TEST_CASE("digits agree with the reference made by mpmath") {
  const std::vector<Row> rows = reference_rows();
  REQUIRE(rows.size() > 30);
  for (const Row& row : rows) {
    INFO(row.expression);
    CHECK(evaluate_digits(formula(row.expression), row.digits) == row.value);
  }
}

TEST_CASE("exact numbers are written in plain notation, rounded half to even") {
  CHECK(digits_of("1/3", 5) == "0.33333");
  CHECK(digits_of("2/3", 5) == "0.66667");
  CHECK(digits_of("-2/3", 1) == "-0.7");
  CHECK(digits_of("1/4", 10) == "0.2500000000");
  CHECK(digits_of("1/4", 1) == "0.2");
  CHECK(digits_of("3/4", 1) == "0.8");
  CHECK(digits_of("999.96", 4) == "1000");
  CHECK(digits_of("999.96", 5) == "999.96");
  CHECK(digits_of("0.00009996", 3) == "0.000100");
  CHECK(digits_of("123456", 3) == "123000");
  CHECK(digits_of("10^30", 5) == "1" + std::string(30, '0'));
  CHECK(digits_of("10^-30", 2) == "0." + std::string(29, '0') + "10");
  CHECK(digits_of("0", 4) == "0.000");
  CHECK(digits_of("0", 1) == "0");
  CHECK(digits_of("7", 1) == "7");
  CHECK(digits_of("9.5", 1) == "10");
}

TEST_CASE("the last digit is right where cancellation eats hundreds of digits") {
  // Two evaluations at nearby precisions would agree on 1e-300 here: the enclosure does not.
  const std::string value = digits_of("log(1 + exp(-1000)) + exp(-2000)/2", 30);
  CHECK(value == digits_of("exp(-1000) + exp(-3000)/3", 30));
  CHECK(digits_of("exp(exp(1)) - exp(exp(1) - exp(-300)) - exp(exp(1) - 300)", 5).substr(0, 5) ==
        "-0.00");
  CHECK(digits_of("(sqrt(2) + 1)^40*(sqrt(2) - 1)^40", 40) == "1." + std::string(39, '0'));
}

TEST_CASE("exact values hidden in functions come out exact") {
  CHECK(digits_of("sin(1)^2 + cos(1)^2", 20) == "1.0000000000000000000");
  CHECK(digits_of("sigmoid(3) + sigmoid(-3)", 5) == "1.0000");
  CHECK(digits_of("(sin(1)^2 + cos(1)^2)/4", 1) == "0.2");  // a tie, to even
}

TEST_CASE("erf beside the place where MPFR gives up") {
  CHECK(digits_of("erf(3^(1/2))", 20) == "0.98569412156457036047");
  CHECK(digits_of("erf(-(3^(1/2)))", 10) == "-0.9856941216");
  CHECK(digits_of("erfc(3^(1/2)) + erf(3^(1/2))", 1500).substr(0, 8) == "1.000000");
}

TEST_CASE("bindings are exact") {
  const std::map<std::string, Expr> at{{"N", Expr(1000)}};
  CHECK(evaluate_digits(formula("(2*N)^(1/4)"), 10, at) == "6.687403050");
  CHECK(evaluate_digits(formula("(2*N)^(-1/4)"), 10, at) == "0.1495348781");
  CHECK(evaluate_digits(formula("x"), 20, {{"x", formula("sqrt(2)")}}) == "1.4142135623730950488");
}

TEST_CASE("what has no digits is an error that says why") {
  CHECK(mentions(message_of([] { digits_of("N", 5); }), "'N' has no value"));
  CHECK(mentions(message_of([] { digits_of("asin(2)", 5); }), "no real value"));
  CHECK(mentions(message_of([] { digits_of("sqrt(sqrt(2) - 2)", 5); }), "no real value"));
  CHECK(mentions(message_of([] { digits_of("log(3 - pi)", 5); }), "no real value"));
  CHECK(mentions(message_of([] { digits_of("norm(pi)", 5); }), "no numeric value"));
  CHECK(mentions(message_of([] { digits_of("exp(10^6)", 5); }), "20000 places"));
  CHECK(mentions(message_of([] { digits_of("exp(-10^6)", 5); }), "20000 places"));
  CHECK(mentions(message_of([] { digits_of("exp(exp(exp(exp(5))))", 5); }), "20000 places"));
  CHECK(mentions(message_of([] { digits_of("erfc(10^10)", 5); }), "20000 places"));
  CHECK(mentions(message_of([] { digits_of("sin(1)^2 + cos(1)^2 - 1", 5); }), "told from 0"));
  CHECK(mentions(message_of([] { digits_of("sin(exp(exp(20)))", 5); }), "bits would be needed"));
  CHECK(mentions(message_of([] { digits_of("1/(sin(1)^2 + cos(1)^2 - 1)", 5); }), "pole"));
  CHECK(mentions(message_of([] { digits_of("pi", 0); }), "from 1 to 10000"));
  CHECK(mentions(message_of([] { digits_of("pi", 10001); }), "from 1 to 10000"));
}

TEST_CASE("ten thousand digits take a moment") {
  const std::string value = digits_of("sqrt(2)", 10000);
  CHECK(value.size() == 10001);
  CHECK(digits_of("pi", 10000).substr(9996) == "37568");  // 375678..., known since 1958
  CHECK(digits_of("erf(1/2)*exp(1)", 10000).size() == 10001);
}

TEST_CASE("positions of the point") {
  CHECK(symbolic::positional({false, "123", 1}) == "1.23");
  CHECK(symbolic::positional({true, "123", 3}) == "-123");
  CHECK(symbolic::positional({false, "123", 5}) == "12300");
  CHECK(symbolic::positional({false, "123", -2}) == "0.00123");
}
