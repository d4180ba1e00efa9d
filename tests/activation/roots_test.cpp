#include "activation/roots.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace scalecalc::activation_room {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<Root> roots(const std::string& text, double low = -infinity, double high = infinity) {
  ParseOptions options;
  options.assumptions = {{"x", Assumption::real}};
  return real_roots(parse(text, options), low, high);
}

std::string shown(const std::vector<Root>& roots) {
  std::string text;
  for (const Root& root : roots) text += (text.empty() ? "" : ", ") + to_string(root.where);
  return text;
}

}  // namespace

TEST_CASE("roots: exact ones") {
  CHECK(shown(roots("3*x - 1")) == "1/3");
  CHECK(shown(roots("x^2 - x - 1")) == "1/2 - 5^(1/2)/2, 1/2 + 5^(1/2)/2");
  CHECK(shown(roots("x^2 + 1")).empty());
  CHECK(shown(roots("(x - 1)^2")) == "1");
  CHECK(shown(roots("exp(x) - 1")) == "0");
  CHECK(shown(roots("2 - exp(3*x)")) == "log(2)/3");
  CHECK(shown(roots("exp(x) + 1")).empty());
  CHECK(shown(roots("tanh(2*x - 1)")) == "1/2");
  CHECK(shown(roots("x*(x - 2)*exp(x)")) == "0, 2");
  CHECK(shown(roots("(x - 1)^3")) == "1");
  CHECK(shown(roots("5")).empty());
}

TEST_CASE("roots: searched ones, fractions among them exactly") {
  CHECK(shown(roots("x^3 - x")) == "-1, 0, 1");
  CHECK(shown(roots("(3*x - 1)*(x^2 - 5*x + 6) + 0*sin(x)")) == "1/3, 2, 3");
  CHECK(shown(roots("x^3 - 3*x + 2")) == "-2, 1");
  CHECK(shown(roots("x^4 - 2*x^2 + 1")) == "-1, 1");
  const auto cosine = roots("cos(x) - x");
  REQUIRE(cosine.size() == 1);
  // The Dottie number.
  CHECK(shown(cosine) == "0.739085133215160641655312087673873404013411758900757464965681");
  CHECK(roots("x - tanh(x)").size() == 1);
  CHECK(roots("sin(x)", -10, 10).size() == 7);
  CHECK(roots("x^2 - exp(x)/100 - 3").size() == 3);
  CHECK(roots("1 - tanh(x)").empty());
}

TEST_CASE("roots: within bounds alone") {
  CHECK(shown(roots("x^3 - x", 0.5, 7)) == "1");
  CHECK(shown(roots("x^2 - 4", -infinity, 0)) == "-2");
  CHECK(roots("cos(x) - x", 1, 2).empty());
}

TEST_CASE("roots: without an end") {
  CHECK_THROWS_AS(roots("sin(x)"), Error);
  CHECK_THROWS_AS(roots("sin(1/x)", 0, 1), Error);
  // (x - 1)^3 multiplied out: around 1 the bounds on small ranges are not sharp enough.
  CHECK_THROWS_AS(roots("x^3 - 3*x^2 + 3*x - 1"), Error);
}

}  // namespace scalecalc::activation_room
