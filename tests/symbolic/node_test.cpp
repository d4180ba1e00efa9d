#include "symbolic/node.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("what is known of signs") {
  CHECK(formula("N").is_positive());
  CHECK_FALSE(formula("x").is_positive());
  CHECK(formula("N + M + 1").is_positive());
  CHECK(formula("N + x^2").is_positive());
  CHECK_FALSE(formula("N - M").is_positive());
  CHECK(formula("N/M*3").is_positive());
  CHECK(formula("exp(x)").is_positive());
  CHECK(formula("1 + x^2").is_positive());
  CHECK_FALSE(formula("x^2").is_positive());
  CHECK(formula("max(x, 1)").is_positive());
  CHECK_FALSE(formula("min(x, 1)").is_positive());
  CHECK(formula("min(N, 1)").is_positive());
  CHECK(symbolic::signs_of(formula("-N*exp(x)")) == symbolic::sign::negative);
  CHECK(symbolic::is_nonnegative(formula("abs(x) + relu(y)")));
  CHECK(symbolic::signs_of(formula("-1 - x^2")) == symbolic::sign::negative);
  CHECK(symbolic::signs_of(formula("tanh(N)")) == symbolic::sign::positive);
}

TEST_CASE("the kinds and their parts") {
  const Expr product = formula("2*N*x");
  CHECK(product.kind() == Expr::Kind::product);
  CHECK(product.operands().size() == 3);
  CHECK(product.operands()[0].number() == Rational(2));
  CHECK(formula("x^2").kind() == Expr::Kind::power);
  CHECK(formula("Phi(x)").name() == "Phi");
  CHECK(formula("pi").kind() == Expr::Kind::constant);
  CHECK(formula("x").assumption() == Assumption::real);
  CHECK(formula("N*exp(x)").contains("x"));
  CHECK_FALSE(formula("N*exp(x)").contains("M"));
  CHECK(Expr().is_zero());
}

TEST_CASE("the canonical order is strict") {
  const std::vector<Expr> list{
      formula("1"),   formula("2"),       formula("pi"),     formula("M"),          formula("N"),
      formula("N^2"), formula("exp(x)"),  formula("1 + x"),  formula("N*M"),        formula("N^x"),
      formula("x"),   formula("x^(1/2)"), formula("sin(x)"), formula("(x*y)^(1/2)")};
  for (const Expr& a : list) {
    CHECK_FALSE(a < a);
    for (const Expr& b : list) {
      CHECK((a == b) == (&a == &b));
      if (&a != &b) CHECK((a < b) != (b < a));
      for (const Expr& c : list) {
        if (a < b && b < c) CHECK(a < c);
      }
    }
  }
}

TEST_CASE("the same name under two assumptions is two symbols") {
  CHECK_FALSE(Expr::symbol("a", Assumption::real) == Expr::symbol("a"));
}

TEST_CASE("symbols are identifiers, and pi is no symbol") {
  for (const char* name : {"", "1a", "a b", "a.b", "a;", "pi", "λ"}) {
    INFO(name);
    CHECK_THROWS_AS(Expr::symbol(name), Error);
  }
  CHECK_THROWS_AS(Expr::function("a b", {Expr(1)}), Error);
}

TEST_CASE("depth and size have limits, named in the message") {
  const std::string deep = message_of([] {
    Expr expr = formula("x");
    while (true) expr = Expr::function("sin", {expr});
  });
  CHECK(mentions(deep, "too deep"));
  CHECK(mentions(deep, "1024"));
  const std::string large = message_of([] {
    Expr expr = formula("x");
    while (true) expr = Expr::function("max", {expr + 1, Expr::function("sin", {expr})});
  });
  CHECK(mentions(large, "100000 nodes"));
}
