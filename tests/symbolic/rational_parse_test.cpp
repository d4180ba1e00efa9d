#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("decimals and fractions parse exactly") {
  CHECK(Rational::parse("3") == Rational(3));
  CHECK(Rational::parse("-3/4") == Rational(-3, 4));
  CHECK(Rational::parse("0.125") == Rational(1, 8));
  CHECK(Rational::parse("1e-3") == Rational(1, 1000));
  CHECK(Rational::parse("2.5E+2") == Rational(250));
  CHECK(Rational::parse(".5") == Rational(1, 2));
  CHECK(Rational::parse("5.") == Rational(5));
  CHECK(Rational::parse("-0") == Rational(0));
  CHECK(Rational::parse("0e999999") == Rational(0));
  CHECK(Rational::parse("007") == Rational(7));
  CHECK(Rational::parse("1.5/0.5") == Rational(3));
  CHECK(Rational::parse("123456789012345678901234567890").to_string() ==
        "123456789012345678901234567890");
}

TEST_CASE("anything else is an error that shows a right number") {
  for (const char* text : {"", "-", ".", "e5", "1e", "1e+", "abc", "1 2", "--1", "1/", "/2", "1/-2",
                           "1/2/3", "0x10", "nan", "inf", "1,5", " 1", "1.2.3"}) {
    INFO(text);
    const std::string message = message_of([&] { Rational::parse(text); });
    CHECK(mentions(message, "is not a usable number"));
    CHECK(mentions(message, "; "));
  }
}

TEST_CASE("astronomical numbers are refused at once") {
  CHECK(mentions(message_of([] { Rational::parse("1e1000000000"); }), "limited to 4900"));
  CHECK(mentions(message_of([] { Rational::parse("1e99999"); }), "limited to 4900"));
  CHECK(mentions(message_of([] { Rational::parse("1e-99999"); }), "limited to 4900"));
  CHECK(mentions(message_of([] { Rational::parse(std::string(1000000, '7')); }), "4900 digits"));
  CHECK(Rational::parse("1e4900").is_integer());
}

TEST_CASE("messages stay on one line whatever the text") {
  const std::string message = message_of([] { Rational::parse("1\n\x1b[31m\xff"); });
  CHECK(message.find('\n') == std::string::npos);
  CHECK(message.find('\x1b') == std::string::npos);
}
