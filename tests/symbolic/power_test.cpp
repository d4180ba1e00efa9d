#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("nested powers merge only where that holds for real numbers") {
  CHECK(formula("(x^2)^(1/2)") == formula("abs(x)"));
  CHECK(formula("(N^2)^(1/2)") == formula("N"));
  CHECK(formula("(x^4)^(1/4)") == formula("abs(x)"));
  CHECK(formula("(x^2)^(3/2)") == formula("abs(x)^3"));
  CHECK(formula("(x^2)^y") == formula("abs(x)^(2*y)"));
  CHECK(formula("(x^3)^(1/3)") == formula("x"));
  CHECK(formula("(x^y)^2") == formula("x^(2*y)"));
  CHECK_FALSE(formula("(x^y)^(1/2)") == formula("x^(y/2)"));
  CHECK(formula("(N^x)^y") == formula("N^(x*y)"));
  CHECK(formula("((1 + x^2)^2)^(1/2)") == formula("1 + x^2"));
}

TEST_CASE("powers of products are distributed over what is positive") {
  CHECK(formula("(2*N)^(1/4)") == formula("2^(1/4)*N^(1/4)"));
  CHECK(formula("(x*y)^2") == formula("x^2*y^2"));
  CHECK_FALSE(formula("(x*y)^(1/2)") == formula("x^(1/2)*y^(1/2)"));
  CHECK(formula("(N*x*y)^(1/2)") == formula("N^(1/2)*(x*y)^(1/2)"));
  CHECK(formula("(x^2*y)^(1/2)") == formula("abs(x)*y^(1/2)"));
  CHECK(formula("(-4*x)^(1/2)") == formula("2*(-x)^(1/2)"));
  CHECK(formula("(N*M)^x") == formula("N^x*M^x"));
}

TEST_CASE("what vanishes on a whole half line stays beside what may be negative") {
  const Expr root = formula("(relu(x)*x)^(1/2)");
  CHECK(evaluate(root, {{"x", -1}}) == 0);
  CHECK(evaluate(root, {{"x", 4}}) == 4);
}

TEST_CASE("powers of sums give up their content") {
  CHECK(formula("(2*x + 2)^2") == formula("4*(x + 1)^2"));
  CHECK(formula("(4*x + 4)^(1/2)") == formula("2*(x + 1)^(1/2)"));
  CHECK(formula("(1 - x)^2") == formula("(x - 1)^2"));
  CHECK(formula("(1 - x)^3") == formula("-(x - 1)^3"));
  CHECK_FALSE(formula("(1 - x)^(1/2)") == formula("(x - 1)^(1/2)"));
  CHECK(formula("1/(2*x + 4)") == formula("1/2/(x + 2)"));
}

TEST_CASE("zero and one") {
  CHECK(formula("x^0").is_one());
  CHECK(formula("1^x").is_one());
  CHECK(formula("0^N").is_zero());
  CHECK(formula("0^(1/2)").is_zero());
  CHECK_THROWS_AS(formula("0^0"), Error);
  CHECK_THROWS_AS(formula("0^(-1/2)"), Error);
  CHECK_THROWS_AS(pow(Expr(0), Expr(-1)), Error);
}

TEST_CASE("powers of functions that undo them") {
  CHECK(formula("exp(x)^y") == formula("exp(x*y)"));
  CHECK(formula("sqrt(exp(x))") == formula("exp(x/2)"));
  CHECK(formula("abs(x)^2") == formula("x^2"));
  CHECK(formula("abs(x)*abs(x)") == formula("x^2"));
  CHECK(formula("abs(x)^3").kind() == Expr::Kind::power);
}
