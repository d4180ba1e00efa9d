#include "support.hpp"
#include "symbolic/canonical.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("sums are flat, sorted and collected") {
  CHECK(formula("x + y") == formula("y + x"));
  CHECK(formula("x + (y + 1) + 2") == formula("3 + x + y"));
  CHECK(formula("x + 2*x") == formula("3*x"));
  CHECK(formula("x - x").is_zero());
  CHECK(formula("x + y - x") == formula("y"));
  CHECK(formula("2*(x + 1) - 2*x") == Expr(2));
  CHECK(formula("1/2*x + 1/3*x") == formula("5/6*x"));
  CHECK(formula("2^(1/2) + 2^(1/2)") == formula("8^(1/2)"));
  CHECK(formula("x*y + y*x") == formula("2*x*y"));
}

TEST_CASE("a number is multiplied into a sum that stands alone") {
  CHECK(formula("2*(x + y)") == formula("2*x + 2*y"));
  CHECK(formula("-(x - y)") == formula("y - x"));
  CHECK(formula("(x + y)/2") == formula("x/2 + y/2"));
}

TEST_CASE("the content of a sum") {
  using symbolic::split_content;
  CHECK(split_content(formula("2*x + 4*y"), true).content == Rational(2));
  CHECK(split_content(formula("x/2 + y/3"), true).content == Rational(1, 6));
  CHECK(split_content(formula("-x - y"), true).content == Rational(-1));
  CHECK(split_content(formula("-x - y"), false).content == Rational(1));
  CHECK(split_content(formula("6 - 4*x"), true).primitive == formula("3 - 2*x"));
  const Expr sum = formula("x - 2*y"), turned = formula("2*y - x");
  CHECK(split_content(sum, true).primitive == split_content(turned, true).primitive);
  CHECK(symbolic::prefers_opposite(sum) != symbolic::prefers_opposite(turned));
}
