
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("radicals are reduced to prime factors") {
  CHECK(formula("8^(1/2)") == formula("2*2^(1/2)"));
  CHECK(formula("(1/4)^(1/2)") == Expr(Rational(1, 2)));
  CHECK(formula("8^(1/3)") == Expr(2));
  CHECK(formula("(27/8)^(2/3)") == Expr(Rational(9, 4)));
  CHECK(formula("(2/3)^(-1/2)") == formula("6^(1/2)/2"));
  CHECK(formula("4^(1/4)") == formula("2^(1/2)"));
  CHECK(formula("1000000007^(1/2)*1000000007^(1/2)") == Expr(1000000007));
  CHECK(formula("32^(1/2)").operands().size() == 2);
}

TEST_CASE("cofactors without small divisors stay whole, and perfect powers are seen") {
  CHECK(formula("1000000014000000049^(1/2)") == Expr(1000000007));
  CHECK(formula("1000000021000000147000000343^(1/3)") == Expr(1000000007));
  CHECK(formula("(2*1000000007)^(1/2)") == formula("2^(1/2)*1000000007^(1/2)"));
  CHECK(formula("340282366920938463463374607431768211507^(1/2)").kind() == Expr::Kind::power);
}

TEST_CASE("negative numbers have no fractional powers") {
  CHECK(formula("(-8)^2") == Expr(64));
  CHECK(formula("(-8)^(-1)") == Expr(Rational(-1, 8)));
  CHECK(mentions(message_of([] { formula("(-8)^(1/3)"); }), "no real value"));
  CHECK(mentions(message_of([] { formula("sqrt(-1)"); }), "no real value"));
}

TEST_CASE("astronomical powers are refused at once") {
  for (const char* text : {"2^(10^9)", "2^2^2^2^2^2", "9^9^9^9", "10^(10^18)", "2^(1000000001/2)",
                           "(1/3)^100000", "1e4000^1000"}) {
    INFO(text);
    CHECK(mentions(message_of([&] { formula(text); }), "16384 bits"));
  }
  CHECK(formula("2^16000").is_number());
  CHECK(formula("1^(10^18)").is_one());
  CHECK(formula("(-1)^(10^18 + 1)") == Expr(-1));
  CHECK(formula("x^(10^9)").kind() == Expr::Kind::power);
}
