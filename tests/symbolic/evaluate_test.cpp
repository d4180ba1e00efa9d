#include <cmath>
#include <limits>

#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

void check_close(const char* text, const Bindings& values, double expected, double roundings = 4) {
  INFO(text);
  CHECK(std::fabs(evaluate(formula(text), values) - expected) <=
        roundings * epsilon * std::fabs(expected));
}

}  // namespace

TEST_CASE("formulas in double") {
  check_close("(2*N)^(1/4)", {{"N", 1000}}, 6.687403049764221);
  check_close("(2*N)^(-1/2)", {{"N", 1000}}, 0.022360679774997897);
  check_close("x^3 - 2*x", {{"x", -1.5}}, -0.375);
  check_close("81/100*(N^4*M)^(1/16)", {{"N", 6}, {"M", 6}}, 0.81 * std::pow(6.0, 5.0 / 16.0));
  check_close("Phi(x)", {{"x", 1}}, 0.8413447460685429);
  check_close("max(x, y, 0) + min(x, y)", {{"x", -1}, {"y", 2.5}}, 1.5);
  check_close("pi^x", {{"x", 2}}, 9.869604401089358);
  check_close("(-x)^(1/3)", {{"x", -8}}, 2);
  check_close("exp(1)", {}, 2.718281828459045);
}

TEST_CASE("no overflow and no loss on the far sides") {
  for (const char* name : {"sigmoid", "softplus", "gelu", "silu", "relu", "tanh", "erf", "Phi"}) {
    const Expr expr = Expr::function(name, {formula("x")});
    for (double x : {-1e3, -1e300, 1e3, 1e300}) {
      INFO(name, " at ", x);
      CHECK(std::isfinite(evaluate(expr, {{"x", x}})));
    }
  }
  check_close("softplus(x)", {{"x", -50}}, 1.9287498479639178e-22);
  check_close("softplus(x)", {{"x", 1e3}}, 1e3);
  CHECK(evaluate_digits(formula("softplus(10000000000)"), 11) == "10000000000");
  check_close("sigmoid(x)", {{"x", -700}}, 9.859676543759770e-305);
  check_close("sigmoid(x)", {{"x", -40}}, 4.248354255291589e-18);
  check_close("gelu(x)", {{"x", -20}}, -5.507248237212467e-88, 1000);  // x^2 roundings in erfc
  check_close("erfc(x)", {{"x", 20}}, 5.395865611607901e-176);
}

TEST_CASE("steps at their edge") {
  CHECK(evaluate(formula("step(x)"), {{"x", 0}}) == 0.5);
  CHECK(evaluate(formula("sign(x)"), {{"x", 0}}) == 0);
  CHECK(evaluate(formula("sign(x)"), {{"x", -3}}) == -1);
  CHECK(evaluate(formula("abs(x)"), {{"x", -3}}) == 3);
  CHECK(evaluate(formula("step(x)"), {{"x", 1e-300}}) == 1);
}

TEST_CASE("NaN and infinities are what IEEE gives") {
  const double nan = std::nan("");
  for (const char* text : {"x^2 + 1", "exp(x)", "abs(x)", "sign(x)", "step(x)", "max(x, 0)",
                           "max(0, x, 1)", "min(x, 1)", "relu(x)", "softplus(x)", "gelu(x)"}) {
    INFO(text);
    CHECK(std::isnan(evaluate(formula(text), {{"x", nan}})));
  }
  CHECK(std::isnan(evaluate(formula("x^(1/2)"), {{"x", -1}})));
  CHECK(std::isnan(evaluate(formula("x^(1/3)"), {{"x", -1}})));
  CHECK(evaluate(formula("1/x"), {{"x", 0}}) == std::numeric_limits<double>::infinity());
  CHECK(evaluate(formula("exp(x)"), {{"x", 1e4}}) == std::numeric_limits<double>::infinity());
  CHECK(evaluate(formula("x^(10^30 + 1)"), {{"x", -1}}) == -1);
}

TEST_CASE("unbound symbols, opaque functions and wrong signs are errors") {
  CHECK(mentions(message_of([] { evaluate(formula("N + 1")); }), "'N' has no value"));
  CHECK(mentions(message_of([] { evaluate(formula("norm(x)"), {{"x", 1}}); }), "no numeric value"));
  CHECK(mentions(message_of([] { evaluate(Expr::function("foo", {Expr(1)})); }), "'foo'"));
  CHECK(mentions(message_of([] { evaluate(formula("N"), {{"N", -1}}); }), "positive"));
  CHECK(evaluate(formula("N"), {{"N", 0}}) == 0);
}
