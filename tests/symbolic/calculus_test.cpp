#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

void check_derivative(const char* text, const char* expected) {
  INFO("d ", text, " = ", expected);
  const Expr slope = differentiate(formula(text), "x");
  CHECK(equal(slope, formula(expected)).verdict == Equality::Verdict::equal);
}

}  // namespace

TEST_CASE("derivatives by hand") {
  check_derivative("x", "1");
  check_derivative("N", "0");
  check_derivative("x^3*N", "3*x^2*N");
  check_derivative("1/x", "-1/x^2");
  check_derivative("(1 + x^2)^(1/2)", "x*(1 + x^2)^(-1/2)");
  check_derivative("N^x", "N^x*log(N)");
  check_derivative("(1 + x^2)^x", "(1 + x^2)^x*(log(1 + x^2) + 2*x^2/(1 + x^2))");
  check_derivative("exp(x)*sin(x)", "exp(x)*(sin(x) + cos(x))");
  check_derivative("log(1 + x^2)", "2*x/(1 + x^2)");
  check_derivative("tan(x)", "1/cos(x)^2");
  check_derivative("atan(x)", "1/(1 + x^2)");
  check_derivative("erf(x)", "2*exp(-x^2)/sqrt(pi)");
  check_derivative("Phi(x)", "exp(-x^2/2)/sqrt(2*pi)");
  check_derivative("tanh(x)", "1/cosh(x)^2");
  check_derivative("sigmoid(x)", "sigmoid(x)*sigmoid(-x)");
  check_derivative("softplus(x)", "sigmoid(x)");
  check_derivative("x*Phi(x)", "Phi(x) + x*exp(-x^2/2)/sqrt(2*pi)");
  check_derivative("gelu(x)", "Phi(x) + x*exp(-x^2/2)/sqrt(2*pi)");
  check_derivative("silu(x)", "sigmoid(x) + x*sigmoid(x)*sigmoid(-x)");
  check_derivative("asin(x/20)", "1/sqrt(400 - x^2)");
  check_derivative("acos(x/20)", "-1/sqrt(400 - x^2)");
}

TEST_CASE("derivatives of pieces") {
  CHECK(differentiate(formula("abs(x)"), "x") == formula("sign(x)"));
  CHECK(differentiate(formula("sign(x)"), "x").is_zero());
  CHECK(differentiate(formula("step(x)"), "x").is_zero());
  CHECK(differentiate(formula("relu(x)"), "x") == formula("step(x)"));
  CHECK(differentiate(formula("max(x, 0)"), "x") == formula("step(x)"));
  CHECK(differentiate(formula("min(x, 0)"), "x") == formula("step(-x)"));
  CHECK(differentiate(formula("max(x, 2*x, 1)"), "x") ==
        formula("step(-x)*step(x - 1) + 2*step(x)*step(2*x - 1)"));
  CHECK(differentiate(formula("max(x^2, N*x)"), "x") ==
        formula("2*x*step(x^2 - N*x) + N*step(N*x - x^2)"));
}

TEST_CASE("a function without a derivative is an error where it matters") {
  CHECK(mentions(message_of([] { differentiate(formula("norm(x)"), "x"); }), "'norm'"));
  CHECK(differentiate(formula("norm(y)"), "x").is_zero());
  const Expr unknown = Expr::function("foo", {formula("x")});
  CHECK(mentions(message_of([&] { differentiate(unknown, "x"); }), "'foo'"));
}

TEST_CASE("substitution simplifies") {
  CHECK(substitute(formula("(2*N)^(1/2)"), {{"N", Expr(8)}}) == Expr(4));
  CHECK(substitute(formula("alpha*lambda"), {{"alpha", formula("1/lambda")}}).is_one());
  CHECK(substitute(formula("x + y"), {{"x", formula("y")}, {"y", formula("x")}}) ==
        formula("x + y"));  // at once, not one after the other
  CHECK(substitute(formula("exp(x)"), {{"x", formula("log(N)")}}) == formula("N"));
  CHECK(substitute(formula("x"), {}) == formula("x"));
  CHECK_THROWS_AS(substitute(formula("1/x"), {{"x", Expr(0)}}), Error);
  CHECK(mentions(message_of([] { substitute(formula("N"), {{"N", Expr(-2)}}); }), "positive"));
}

TEST_CASE("expansion") {
  CHECK(expand(formula("(x + y)*(x - y)")) == formula("x^2 - y^2"));
  CHECK(expand(formula("(x + 1)^3")) == formula("x^3 + 3*x^2 + 3*x + 1"));
  CHECK(expand(formula("(x + 1)^(1/2)")) == formula("(x + 1)^(1/2)"));
  CHECK(expand(formula("exp((x + 1)^2)")) == formula("exp(x^2 + 2*x + 1)"));
  CHECK(expand(formula("x*(1 + 2^(1/2))")) == formula("x + 2^(1/2)*x"));
  CHECK(expand(formula("2^(1/2)*(1 + x)")) == formula("2^(1/2) + 2^(1/2)*x"));
  CHECK(expand(formula("(x + 1)^100")).kind() == Expr::Kind::power);  // past the limit: left
  CHECK(expand(formula("((x + 1)*(y + 1))^2")) ==
        formula("1 + 2*x + 2*y + x^2 + y^2 + 4*x*y + 2*x*y^2 + 2*x^2*y + x^2*y^2"));
}

TEST_CASE("an expansion that would not end is an error") {
  const char* text = "((a + b + c + d)*(e + f + g + h)*(i + j + k + l)*(m + n + o + p))^60";
  CHECK(mentions(message_of([&] { expand(formula(text)); }), "too large"));
}
