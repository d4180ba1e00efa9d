
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

std::string failure(const std::string& text, const ParseOptions& options = {}) {
  const std::string message = message_of([&] { parse(text, options); });
  const auto found = parse_failure(text, options);
  CHECK(found.has_value() == !message.empty());
  CHECK(message.find('\n') == std::string::npos);
  return message;
}

void check_failure(const std::string& text, const std::string& what, const std::string& hint) {
  INFO(text);
  const std::string message = failure(text);
  CHECK_MESSAGE(mentions(message, what), message);
  CHECK_MESSAGE(mentions(message, hint), message);
}

}  // namespace

TEST_CASE("precedence") {
  CHECK(formula("1 + 2*3") == Expr(7));
  CHECK(formula("2 - 3 - 4") == Expr(-5));
  CHECK(formula("12/3/2") == Expr(2));
  CHECK(formula("2*6/3") == Expr(4));
  CHECK(formula("-x^2") == -pow(formula("x"), 2));
  CHECK(formula("(-x)^2") == formula("x^2"));
  CHECK(formula("2^3^2") == Expr(512));
  CHECK(formula("2^-1") == Expr(Rational(1, 2)));
  CHECK(formula("2^-x^2") == pow(Expr(2), -formula("x^2")));
  CHECK(formula("4^1/2") == Expr(2));
  CHECK(formula("2*-3") == Expr(-6));
  CHECK(formula("2--3") == Expr(5));
  CHECK(formula("+-+2") == Expr(-2));
  CHECK(formula("-2^2") == Expr(-4));
  CHECK(formula("x/-2") == formula("-x/2"));
}

TEST_CASE("numbers, names and calls") {
  CHECK(formula("0.25") == Expr(Rational(1, 4)));
  CHECK(formula("1e-3") == Expr(Rational(1, 1000)));
  CHECK(formula("  x\t+ 1\n") == formula("x+1"));
  CHECK(formula("a_1b").name() == "a_1b");
  CHECK(formula("pi").kind() == Expr::Kind::constant);
  CHECK(formula("e").kind() == Expr::Kind::symbol);
  CHECK(formula("max(x, y, 0)").operands().size() == 3);
  CHECK(formula("Phi( x )") == formula("Phi(x)"));
  CHECK(formula("e2*2e2") == Expr(200) * Expr::symbol("e2"));
}

TEST_CASE("assumptions and known symbols") {
  ParseOptions options;
  options.assumptions = {{"x", Assumption::real}};
  options.known_symbols = {"x", "lambda"};
  options.where = "--constraint alpha";
  CHECK(parse("x", options).assumption() == Assumption::real);
  CHECK(parse("lambda", options).assumption() == Assumption::positive);
  const std::string message = failure("2*lamda", options);
  CHECK(mentions(message, "unknown symbol 'lamda' at column 3 (--constraint alpha)"));
  CHECK(mentions(message, "did you mean 'lambda'?"));
  options.known_symbols = {"step"};
  CHECK(parse("step", options).kind() == Expr::Kind::symbol);
}

TEST_CASE("errors have a column and say what would be right") {
  check_failure("", "empty formula", "write a formula");
  check_failure("   ", "empty formula", "write a formula");
  check_failure("(1 + 2))", "unexpected ')' at column 8", "missing '('");
  check_failure("1 + )", "unexpected ')' at column 5", "");
  check_failure("(x", "unclosed '(' at column 1", "missing ')'");
  check_failure("exp(x", "unclosed '(' at column 4", "missing ')'");
  check_failure("x +", "ends too early at column 4", "missing at the end");
  check_failure("x ^", "ends too early", "");
  check_failure("*x", "unexpected '*' at column 1", "");
  check_failure("()", "unexpected ')' at column 2", "");
  check_failure("2N", "unexpected 'N' at column 2", "write 2*N");
  check_failure("2(N+1)", "unexpected '(' at column 2", "write 2*(...)");
  check_failure("(a)(b)", "unexpected '(' at column 4", "*(...)");
  check_failure("a b", "unexpected 'b' at column 3", "write a*b");
  check_failure("x**2", "unexpected '**' at column 2", "write ^");
  check_failure("sigmod(x)", "unknown function 'sigmod' at column 1", "did you mean 'sigmoid'?");
  check_failure("1 + ERF(x)", "unknown function 'ERF' at column 5", "did you mean 'erf'?");
  check_failure("sin", "'sin' has no argument at column 1", "write sin(x)");
  check_failure("sin()", "takes 1 argument, not 0", "write sin(x)");
  check_failure("sin(x, y)", "takes 1 argument, not 2", "");
  check_failure("1 + max(x)", "at column 5", "write max(x, y)");
  check_failure("a, b", "unexpected ',' at column 2", "arguments of a function");
  check_failure("exp(x,)", "unexpected ')' at column 7", "");
  check_failure("1.2.3", "unexpected '.' at column 4", "one decimal point");
  check_failure("x = 3", "unexpected '=' at column 3", "a formula is made of");
  check_failure("x; y", "unexpected ';' at column 2", "");
  check_failure("pi(2)", "unexpected '('", "write pi*(...)");
  check_failure("1/0", "division by zero at column 2", "");
  check_failure("1 + 0^0", "0^0 has no value at column 6", "");
  check_failure("2^(10^9)", "at column 2", "16384 bits");
  check_failure("x + log(0)", "log(0) has no value at column 5", "positive argument");
  check_failure("sqrt(0 - 4)", "no real value at column 1", "not negative");
}

TEST_CASE("columns count characters, and pasted signs get a hint") {
  check_failure("λ", "unexpected 'λ' at column 1", "write lambda");
  check_failure("x + é", "unexpected 'é' at column 5", "");
  check_failure("2·N", "unexpected '·' at column 2", "write *");
  check_failure("x − 1", "unexpected '−' at column 3", "write -");
  check_failure("2*π", "unexpected 'π' at column 3", "write pi");
  check_failure("x²", "at column 2", "write ^2");
  check_failure("x\xff", "a byte that is not UTF-8 at column 2", "");
  check_failure(std::string("x\0y", 3), "at column 2", "");
  check_failure("x\x1b[2J", "unexpected '?' at column 2", "");
}

TEST_CASE("the caret stands under the column") {
  const auto found = parse_failure("1 + sigmod(x)");
  REQUIRE(found);
  CHECK(found->column == 5);
  CHECK(found->caret() == "1 + sigmod(x)\n    ^\n");
  CHECK(mentions(found->reason, "unknown function 'sigmod'"));
  const auto accented = parse_failure("x*é + 1");
  REQUIRE(accented);
  CHECK(accented->caret() == "x*é + 1\n  ^\n");
  CHECK_FALSE(parse_failure("x + 1"));
}

TEST_CASE("a long text is cut around the column") {
  const std::string text = std::string(300, 'a') + " + é)" + std::string(300, 'b');
  const auto found = parse_failure(text);
  REQUIRE(found);
  CHECK(found->text.size() <= 4 * 80);
  const std::string caret = found->caret();
  CHECK(caret.find('\n') < 100);
  // The character above the caret is the one that failed.
  CHECK(found->column >= 1);
  CHECK(found->column <= 80);
  CHECK(found->text.substr(static_cast<std::size_t>(found->column - 1), 2) == "é");
}

TEST_CASE("hostile text fails cleanly") {
  check_failure(std::string(1000, '(') + "x" + std::string(1000, ')'),
                "nesting deeper than 256 at column 257", "fewer brackets");
  check_failure(std::string(16000, '('), "deeper than 256", "");
  check_failure(std::string(1000000, '('), "too long", "16384");
  check_failure(std::string(1000000, 'a'), "1000000 bytes is too long", "16384");
  std::string powers = "x", calls, sum = "x", fractions = "1";
  for (int k = 0; k < 1000; ++k) powers += "^x";
  for (int k = 0; k < 1000; ++k) calls += "exp(";
  check_failure(powers, "deeper than 256", "");
  check_failure(calls, "deeper than 256", "");
  CHECK(formula(std::string(16000, '-') + "x") == formula("x"));
  for (int k = 0; k < 8000; ++k) sum += "+x";
  CHECK(formula(sum) == formula("8001*x"));
  for (int k = 0; k < 1800; ++k) fractions += "+1/" + std::to_string(10007 + k);
  CHECK(formula(fractions).is_number());
  check_failure("1e4000*1e4000", "16384 bits", "4900 digits");
  std::string radicals = "1";
  for (int k = 0; k < 1100; ++k) radicals += "+(1e77 + 1)^.5";
  CHECK(formula(radicals).kind() == Expr::Kind::sum);
}

TEST_CASE("256 levels are allowed") {
  std::string nested(255, '(');
  nested += "x";
  for (int k = 0; k < 255; ++k) nested += "+1)*2";
  const Expr expr = formula(nested);
  CHECK(expr.kind() == Expr::Kind::sum);
  std::string fractions;
  double expected = 1;
  for (int k = 0; k < 128; ++k) {
    fractions += "x + 1/(2 + N*(";
    expected = 1 + 1 / (2 + 3 * expected);
  }
  fractions += "x" + std::string(256, ')');
  CHECK(evaluate(formula(fractions), {{"x", 1}, {"N", 3}}) == doctest::Approx(expected));
  std::string deep;
  for (int k = 0; k < 129; ++k) deep += "1/(1 + y/(";
  check_failure(deep, "deeper than 256", "");
}
