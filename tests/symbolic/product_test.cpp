#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("products are flat, sorted and merged by base") {
  CHECK(formula("x*y") == formula("y*x"));
  CHECK(formula("x*x^2") == formula("x^3"));
  CHECK(formula("x*N*x^-1") == formula("N"));
  CHECK(formula("x^y*x^z") == formula("x^(y + z)"));
  CHECK(formula("N^(1/2)*N^(1/2)") == formula("N"));
  CHECK(formula("0*exp(x)").is_zero());
  CHECK(formula("2*3*x*1/6") == formula("x"));
  CHECK(formula("x/x").is_one());
}

TEST_CASE("sums inside products have one sign and no content") {
  CHECK(formula("(2*x + 2)*y") == formula("2*(x + 1)*y"));
  CHECK(formula("y*(1 - x)") == formula("-y*(x - 1)"));
  CHECK(formula("y*(1 - x) + y*(x - 1)").is_zero());
  CHECK(formula("(2*x + 2)*y/y") == formula("2*x + 2"));
  CHECK(formula("(x + 1)*(2*x + 2)") == formula("2*(x + 1)^2"));
  CHECK(formula("(x + 1)^(1/2)*(4*x + 4)^(1/2)") == formula("2*x + 2"));
  CHECK(formula("(x - 1)^(1/2)*(x - 1)^(1/2)") == formula("x - 1"));
}

TEST_CASE("exponentials merge") {
  CHECK(formula("exp(x)*exp(y)") == formula("exp(x + y)"));
  CHECK(formula("exp(x)/exp(x)").is_one());
  CHECK(formula("exp(x)^3*exp(-x)") == formula("exp(2*x)"));
  CHECK(formula("exp(x - log(N))*exp(log(N))") == formula("exp(x)"));
  CHECK(formula("x*exp(log(x) + y)*exp(-y)") == formula("x^2"));
}

TEST_CASE("radicals of numbers merge") {
  CHECK(formula("2^(1/2)*2^(1/2)") == Expr(2));
  CHECK(formula("2^(1/2)*3^(1/2)") == formula("6^(1/2)"));
  CHECK(formula("12^(1/2)/3^(1/2)") == Expr(2));
  CHECK(formula("2^(1/2)/2") == formula("2^(-1/2)"));
  CHECK(formula("2^x*2^(1/2)*2^-x") == formula("2^(1/2)"));
  CHECK(formula("2*2^x") == formula("2^(1 + x)"));
}

TEST_CASE("division by zero is an error") {
  CHECK_THROWS_AS(formula("x") / Expr(0), Error);
  CHECK_THROWS_AS(formula("1/(x - x)"), Error);
}
