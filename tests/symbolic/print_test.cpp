#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

using Pairs = std::vector<std::pair<const char*, const char*>>;

void check_written(const Pairs& pairs, Notation notation) {
  for (const auto& [text, expected] : pairs) {
    INFO(text);
    CHECK(to_string(formula(text), notation) == expected);
  }
}

}  // namespace

TEST_CASE("radicals are grouped as a person writes them") {
  check_written({{"2^(1/4)*N^(1/4)", "(2*N)^(1/4)"},
                 {"2^(-1/4)*N^(-1/4)", "(2*N)^(-1/4)"},
                 {"sqrt(2*N)", "(2*N)^(1/2)"},
                 {"2^(-3/4)*N^(-1/4)", "(8*N)^(-1/4)"},
                 {"N^(1/4)*M^(1/16)", "(N^4*M)^(1/16)"},
                 {"0.81*N^(1/4)*M^(1/16)", "81/100*(N^4*M)^(1/16)"},
                 {"N^(3/2)", "N^(3/2)"},
                 {"N^(-3/2)", "N^(-3/2)"},
                 {"(2*N)^(3/2)", "(2*N)^(3/2)"},
                 {"2*(2*N)^(1/4)", "2*(2*N)^(1/4)"},
                 {"(2/N)^(1/4)", "(2/N)^(1/4)"},
                 {"sqrt(lambda/alpha)", "(lambda/alpha)^(1/2)"},
                 {"N^(-1/2)/2", "(4*N)^(-1/2)"},
                 {"sqrt(N)/2", "N^(1/2)/2"},
                 {"12*M", "12*M"},
                 {"(12*M)^(1/4)", "(12*M)^(1/4)"},
                 {"(12*M)^(-1/4)", "(12*M)^(-1/4)"},
                 {"(1+lambda^4/alpha^2)^(-1/2)", "(1 + lambda^4/alpha^2)^(-1/2)"},
                 {"(2*(N + M))^(1/4)", "(2*(M + N))^(1/4)"},
                 {"2^(-1/2)", "2^(-1/2)"},
                 {"8^(1/2)", "2*2^(1/2)"},
                 {"6^(1/2)", "6^(1/2)"},
                 {"3*2^(-1/2)", "3*2^(-1/2)"}},
                Notation::text);
}

TEST_CASE("numbers that would not be read as the same primes stay out of a radical") {
  check_written({{"169483^(1/2)*N^(1/2)", "(169483*N)^(1/2)"},
                 {"16411^(1/2)*16417^(1/2)*N^(1/2)", "N^(1/2)*16411^(1/2)*16417^(1/2)"},
                 {"16411^(1/2)*16417^(-1/2)", "(16411/16417)^(1/2)"},
                 {"169483^(-131/6)*N^(-131/6)*25^(131/6)",
                  "1136868377216160297393798828125*N^(-131/6)*5^(2/3)*169483^(-131/6)"}},
                Notation::text);
}

TEST_CASE("a positive sum whose opposite is preferred is read back from under a root") {
  const Expr expr = formula("5^(1/2)*(6^(1/3) - silu(-N))^(-1/2)");
  CHECK(formula(to_string(expr)) == expr);
}

TEST_CASE("quotients, sums and signs") {
  check_written({{"1/(2*N)", "1/(2*N)"},
                 {"lambda/alpha", "lambda/alpha"},
                 {"lambda^4/alpha^2", "lambda^4/alpha^2"},
                 {"x/2", "x/2"},
                 {"3/4*x", "3/4*x"},
                 {"3*x/(4*y)", "3*x/(4*y)"},
                 {"-x/2", "-x/2"},
                 {"x - 1", "x - 1"},
                 {"1 - x", "1 - x"},
                 {"-1 - x", "-1 - x"},
                 {"x + y - 1", "x + y - 1"},
                 {"y*(x - 1)", "y*(x - 1)"},
                 {"-y*(x - 1)", "y*(1 - x)"},
                 {"-y*(1 + x)", "-y*(1 + x)"},
                 {"x - (y + 1)/z", "x - (1 + y)/z"},
                 {"x^(a + b)", "x^(a + b)"},
                 {"x^(-a)", "x^(-a)"},
                 {"2^x/3", "2^x/3"},
                 {"(x^a)^(1/2)", "(x^a)^(1/2)"},
                 {"(x + 1)^2/(x - 1)^3", "-(1 + x)^2/(1 - x)^3"},
                 {"-5", "-5"},
                 {"-2/3", "-2/3"},
                 {"x*exp(-x^2/2)/sqrt(2*pi)", "x*(2*pi)^(-1/2)*exp(-x^2/2)"},
                 {"x/(y*sqrt(2*pi))", "x/(y*(2*pi)^(1/2))"},
                 {"max(0, x)", "max(x, 0)"},
                 {"norm(x)/rms(y)", "norm(x)/rms(y)"}},
                Notation::text);
}

TEST_CASE("numbers with long decimal denominators are written as decimals") {
  check_written({{"0.81", "81/100"},
                 {"1.6732632423543772", "1.6732632423543772"},
                 {"-0.00000001", "-0.00000001"},
                 {"1.0507009873554805*x", "1.0507009873554805*x"},
                 {"x/1000000", "0.000001*x"},
                 {"1/3000000", "1/3000000"}},
                Notation::text);
  CHECK(to_string(formula("0.0000001"), Notation::c) == "0.0000001");
}

TEST_CASE("LaTeX") {
  check_written({{"(2*N)^(1/4)", "\\left(2N\\right)^{1/4}"},
                 {"sqrt(2*N)", "\\sqrt{2N}"},
                 {"(2*N)^(-1/2)", "\\left(2N\\right)^{-1/2}"},
                 {"lambda/alpha", "\\frac{\\lambda}{\\alpha}"},
                 {"0.81*(N^4*M)^(1/16)", "\\frac{81}{100}\\left(N^{4}M\\right)^{1/16}"},
                 {"alpha*N", "N\\alpha"},
                 {"eta*theta*gamma", "\\eta\\gamma\\theta"},
                 {"alpha*b", "\\alpha b"},
                 {"2*3^(1/2)", "2\\sqrt{3}"},
                 {"2*3^x", "2 \\cdot 3^{x}"},
                 {"width*x_1", "\\mathrm{width}x_{1}"},
                 {"erf(x)", "\\operatorname{erf}\\left(x\\right)"},
                 {"abs(x)", "\\left|x\\right|"},
                 {"x^2/2", "\\frac{x^{2}}{2}"},
                 {"(x + 1)^2", "\\left(1 + x\\right)^{2}"},
                 {"pi/2", "\\frac{\\pi}{2}"},
                 {"norm(x)", "\\left\\|x\\right\\|"},
                 {"global_norm(x)", "\\left\\|x\\right\\|_{\\mathrm{all}}"}},
                Notation::latex);
}

TEST_CASE("Python and C") {
  check_written({{"(2*N)^(1/4)", "(2*N)**(1/4)"},
                 {"lambda/alpha", "lambda_/alpha"},
                 {"lambda_*lambda__", "lambda__*lambda___"},
                 {"1/N^2", "1/N**2"},
                 {"Phi(x)", "(0.5*math.erfc(-x/math.sqrt(2)))"},
                 {"max(x, y, 0)", "max(x, y, 0)"},
                 {"pi", "math.pi"}},
                Notation::python);
  check_written({{"(2*N)^(1/4)", "pow(2.0*N, 1.0/4.0)"},
                 {"1/2", "1.0/2.0"},
                 {"lambda/double", "lambda/double_"},
                 {"sqrt(N)", "sqrt(N)"},
                 {"1/N^2", "1.0/pow(N, 2.0)"},
                 {"max(x, y, 0)", "fmax(x, fmax(y, 0.0))"},
                 {"abs(x)", "fabs(x)"}},
                Notation::c);
}

TEST_CASE("what would grow without end when written is an error") {
  Expr nested = formula("x");
  for (int k = 0; k < 40; ++k) nested = Expr::function("softplus", {nested});
  CHECK(to_string(nested).size() < 1000);
  CHECK(mentions(message_of([&] { to_string(nested, Notation::c); }), "megabyte"));
}
