#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

using Verdict = Equality::Verdict;
using Method = Equality::Method;

Equality compare(const char* a, const char* b) {
  return equal(formula(a), formula(b));
}

}  // namespace

TEST_CASE("canonical forms prove what they can") {
  for (const auto& [a, b] : std::vector<std::pair<const char*, const char*>>{
           {"x + y", "y + x"},
           {"(x + y)^2", "x^2 + 2*x*y + y^2"},
           {"(x + 1)*(x - 1)", "x^2 - 1"},
           {"(2*N)^(1/2)", "2^(1/2)*N^(1/2)"},
           {"(x + y)^5 - x^5", "y^5 + 5*y^4*x + 10*y^3*x^2 + 10*y^2*x^3 + 5*y*x^4"}}) {
    INFO(a, " and ", b);
    const Equality result = compare(a, b);
    CHECK(result.verdict == Verdict::equal);
    CHECK(result.method == Method::canonical);
    CHECK(result.describe() == "proved: same canonical form");
  }
}

TEST_CASE("points decide the rest") {
  for (const auto& [a, b] :
       std::vector<std::pair<const char*, const char*>>{{"sin(x)^2 + cos(x)^2", "1"},
                                                        {"gelu(x)", "x*Phi(x)"},
                                                        {"relu(x)", "max(x, 0)"},
                                                        {"silu(x)", "x*sigmoid(x)"},
                                                        {"sigmoid(x)", "1/(1 + exp(-x))"},
                                                        {"Phi(x)", "(1 + erf(x/sqrt(2)))/2"},
                                                        {"erfc(x)", "1 - erf(x)"},
                                                        {"tanh(x)", "2*sigmoid(2*x) - 1"},
                                                        {"softplus(x) - softplus(-x)", "x"},
                                                        {"step(x) + step(-x)", "1"},
                                                        {"log(N*M)", "log(N) + log(M)"},
                                                        {"max(x, y) + min(x, y)", "x + y"},
                                                        {"sign(x)*abs(x)", "x"},
                                                        {"4^x", "2^(2*x)"}}) {
    INFO(a, " and ", b);
    const Equality result = compare(a, b);
    CHECK(result.verdict == Verdict::equal);
    CHECK(result.method == Method::numeric);
    CHECK(result.points == 40);
    CHECK(result.digits == 50);
    CHECK(mentions(result.describe(), "equal at 40 random points to 50 digits"));
  }
}

TEST_CASE("a difference comes with a witness that shows it") {
  const Equality result = compare("sin(x)*N", "x*N");
  CHECK(result.verdict == Verdict::different);
  REQUIRE(result.witness.count("x") == 1);
  REQUIRE(result.witness.count("N") == 1);
  const std::map<std::string, Expr> point{{"x", formula(result.witness.at("x"))},
                                          {"N", formula(result.witness.at("N"))}};
  CHECK(evaluate_digits(formula("sin(x)*N"), 20, point) !=
        evaluate_digits(formula("x*N"), 20, point));
  CHECK(mentions(result.describe(), "different at N = "));
  CHECK(compare("x", "x + 1").verdict == Verdict::different);
  CHECK(compare("x", "x + 1").method == Method::canonical);
}

TEST_CASE("differences far below double precision are seen") {
  CHECK(compare("x", "x*(1 + 1e-45)").verdict == Verdict::different);
  CHECK(compare("exp(x)", "exp(x) + 1e-60*sin(x)^2").verdict == Verdict::different);
  // 50 digits are all that is promised.
  CHECK(compare("exp(x)", "exp(x) + 1e-300*sin(x)^2").verdict == Verdict::equal);
  CHECK(compare("abs(x)", "x").verdict == Verdict::different);  // real symbols get both signs
  CHECK(compare("abs(N)", "N").verdict == Verdict::equal);
}

TEST_CASE("constants need one evaluation") {
  const Equality same = compare("sin(1)^2 + cos(1)^2", "1");
  CHECK(same.verdict == Verdict::equal);
  CHECK(same.points == 1);
  CHECK(same.describe() == "equal to 50 digits");
  const Equality other = compare("22/7", "pi");
  CHECK(other.verdict == Verdict::different);
  CHECK(other.witness.empty());
  CHECK(compare("sin(3)^2 + cos(3)^2 - 1", "0").verdict == Verdict::equal);
}

TEST_CASE("what has no value is undecided") {
  CHECK(compare("norm(x)", "abs(x)").verdict == Verdict::undecided);
  CHECK(compare("log(-N)", "N").verdict == Verdict::undecided);
  CHECK(mentions(compare("norm(x)", "rms(x)").describe(), "undecided"));
  CHECK(compare("norm(x)*2", "norm(x) + norm(x)").verdict == Verdict::equal);
}

TEST_CASE("the answer is the same every time") {
  CHECK(compare("sin(x)", "x").witness == compare("sin(x)", "x").witness);
}
