#include <doctest/doctest.h>

#include <cmath>

#include "moments/engines/cancel.hpp"
#include "moments/engines/formulas.hpp"
#include "moments/engines/recursion.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;

namespace {

bool proved(const Expr& a, const Expr& b) {
  return equal(a, b).verdict == Equality::Verdict::equal;
}

std::optional<Expr> solved(const char* next, const char* first,
                           const std::vector<Expr>& ratios = {}) {
  return solve_recursion({"m", parse(next), parse(first)}, ratios);
}

}  // namespace

TEST_CASE("recursions: constant, arithmetic, geometric, affine") {
  CHECK(proved(*solved("1", "1"), 1));
  CHECK(proved(*solved("m + b", "1"), parse("1 + l*b")));
  CHECK(proved(*solved("m/(1 + lambda^4/alpha^2)", "1"), parse("(1 + lambda^4/alpha^2)^(-l)")));
  CHECK(proved(*solved("m/2 + 1", "q"), parse("q*2^(-l) + 2*(1 - 2^(-l))")));
  CHECK(proved(*solved("alpha^2*m + b", "1"),
               parse("alpha^(2*l) + b*(alpha^(2*l) - 1)/(alpha^2 - 1)")));
}

TEST_CASE("a recursion whose factor telescopes") {
  const Expr stream = parse("1 + l*b");
  const auto found = solved("m*(1 + (l + 1)*b)/(1 + l*b)", "g", {stream});
  REQUIRE(found);
  CHECK(proved(*found, parse("g*(1 + l*b)")));
  CHECK_FALSE(solved("m*(1 + (l + 2)*b)/(1 + l*b)", "g", {stream}));
}

TEST_CASE("what is not linear stays a recursion, and so does a start that does not fit") {
  CHECK_FALSE(solved("m^2", "1/2"));
  CHECK_FALSE(solved("m/(m + b)", "1"));
  CHECK_FALSE(solved("1", "2"));
}

TEST_CASE("an affine form is read off expanded products") {
  const auto affine = affine_in(parse("a*(x + b) - c*x"), "x");
  REQUIRE(affine);
  CHECK(proved(affine->slope, parse("a - c")));
  CHECK(proved(affine->shift, parse("a*b")));
  CHECK_FALSE(affine_in(parse("x*(x + 1)"), "x"));
  CHECK_FALSE(affine_in(Expr::function("opaque", {Expr::symbol("x")}), "x"));
}

TEST_CASE("expectations print in the formula language and evaluate") {
  const Activation silu = Activation::named("silu"), relu = Activation::named("relu");
  const Expr q = Expr::symbol("q"), c = Expr::symbol("c", Assumption::real);
  CHECK(formula_text(2 * unevaluated(silu, Moment::second, 0, q)) == "2*E[silu(z*q^(1/2))^2]");
  CHECK(formula_text(unevaluated(silu, Moment::cross, 0, 1, c)) ==
        "E[silu(z)*silu(c*z + w*(1 - c^2)^(1/2))]");
  // quadrature's own digits: E silu(z)^2 = 0.3557757, half the size of relu's at a tenth of q
  CHECK(formula_value(unevaluated(silu, Moment::second, 0, q), {{"q", 1.0}}) ==
        doctest::Approx(quadrature(silu, Moment::second, {0, 1, {}}).value).epsilon(1e-13));
  CHECK(formula_value(unevaluated(relu, Moment::second, 0, q) + q, {{"q", 3.0}}) ==
        doctest::Approx(4.5).epsilon(1e-14));
  CHECK(formula_value(Expr::function("P2", {Expr(4), q}), {{"q", 0.0}}) ==
        doctest::Approx(0.25).epsilon(1e-10));
}

TEST_CASE("the calculus of formulas finds closed forms, and marks what has none") {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  Formulas calculus(spec);
  const Token<Expr> u{0, Expr::symbol("q")};
  CHECK(proved(calculus.expectation(calculus.function("relu"), Moment::second, u), parse("q/2")));
  const Expr silu = calculus.expectation(calculus.function("silu"), Moment::second, u);
  CHECK(formula_text(silu) == "E[silu(z*q^(1/2))^2]");
  const Expr cross = calculus.pair(calculus.function("relu"), Moment::cross, u, u, Expr(0));
  CHECK(proved(cross, parse("q/(2*pi)")));
  const ModelSpec sizes = distinct_sizes(spec);
  CHECK(calculus.size(sizes.width, "fan_in") == Expr::symbol("width"));
  CHECK(calculus.size(sizes.vocab, "fan_out") == Expr::symbol("vocab"));
  CHECK(calculus.size(1, "tokens") == Expr(1));
}

TEST_CASE("sums over one denominator cancel when their numerators make it up") {
  CHECK(cancelled(parse("a*x/(a + b) + b*x/(a + b)")) == parse("x"));
  CHECK(cancelled(parse("y*(a^2*x/(a^2 + 2*b) + 2*b*x/(a^2 + 2*b)) + z")) == parse("x*y + z"));
  const Expr kept = parse("a*x/(a + b) + 2*b*x/(a + b)");
  CHECK(cancelled(kept) == kept);
}
