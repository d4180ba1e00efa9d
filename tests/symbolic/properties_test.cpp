#include <cmath>

#include "generator.hpp"
#include "support.hpp"
#include "symbolic/evaluate.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

using Point = std::map<std::string, Rational>;

Point random_point(Generator& random) {
  const auto odd = [&] { return 2 * static_cast<std::int64_t>(random.below(2000)) + 1; };
  return {{"x", Rational(odd() - 2000, 1009)},
          {"y", Rational(odd() - 2000, 1013)},
          {"N", Rational(odd(), 1019)},
          {"M", Rational(odd(), 1021)}};
}

/// Whether both could be the same number: two certain enclosures that do not meet cannot.
bool meet(const symbolic::Interval& a, const symbolic::Interval& b) {
  return (a - b).contains_zero();
}

/// A value that its enclosure pins down (not so at a pole or at the corner of a max).
bool is_usable(const symbolic::Interval& value) {
  if (value.is_nan() || !value.lower.is_finite() || !value.upper.is_finite()) return false;
  const double low = mpfr_get_d(value.lower.get(), MPFR_RNDD);
  const double high = mpfr_get_d(value.upper.get(), MPFR_RNDU);
  return std::fabs(low) < 1e100 && std::fabs(high - low) <= 1e-9 * (1 + std::fabs(low));
}

}  // namespace

TEST_CASE("the canonical form has the value of the formula as it was written") {
  Generator random(1);
  int compared = 0;
  for (int round = 0; round < 6000; ++round) {
    const Twin twin = random.next(1 + static_cast<int>(random.below(4)));
    const Point point = random_point(random);
    const symbolic::Interval raw = symbolic::enclose(twin.raw, point, 256);
    if (!is_usable(raw)) continue;
    const symbolic::Interval canonical = symbolic::enclose(twin.canonical, point, 256);
    INFO("round ", round, ": ", to_string(twin.canonical));
    CHECK_FALSE(canonical.is_nan());
    CHECK(meet(raw, canonical));
    ++compared;
  }
  CHECK(compared > 3000);
}

TEST_CASE("text parses back to the same canonical form") {
  Generator random(2);
  for (int round = 0; round < 6000; ++round) {
    const Expr expr = random.next(1 + static_cast<int>(random.below(4))).canonical;
    const std::string text = to_string(expr);
    INFO(text);
    CHECK(formula(text) == expr);
  }
}

TEST_CASE("sums and products obey the axioms of a ring in canonical form") {
  Generator random(3);
  for (int round = 0; round < 1500; ++round) {
    const Expr a = random.next(2).canonical, b = random.next(2).canonical,
               c = random.next(2).canonical;
    INFO("a = ", to_string(a), "   b = ", to_string(b), "   c = ", to_string(c));
    CHECK(a + b == b + a);
    CHECK((a + b) + c == a + (b + c));
    CHECK((a + 0) == a);
    CHECK((a - a).is_zero());
    CHECK(a * b == b * a);
    CHECK((a * b) * c == a * (b * c));
    CHECK(a * 1 == a);
    CHECK((a * 0).is_zero());
    CHECK(-(-a) == a);
    if (!a.is_zero()) CHECK((a / a).is_one());
  }
}

TEST_CASE("products distribute over sums") {
  Generator random(4);
  for (int round = 0; round < 300; ++round) {
    const Expr a = random.next(2).canonical, b = random.next(2).canonical,
               c = random.next(2).canonical;
    INFO("a = ", to_string(a), "   b = ", to_string(b), "   c = ", to_string(c));
    CHECK(equal(a * (b + c), a * b + a * c).verdict != Equality::Verdict::different);
    CHECK(equal(expand(a * (b + c)), a * b + a * c).verdict != Equality::Verdict::different);
  }
}

TEST_CASE("derivatives agree with central differences of 80-bit steps") {
  Generator random(5);
  // The difference quotient is off by h^2 f'''/6 with h = 2^-80: 10^-49 times the third derivative.
  const Rational step(1, std::int64_t{1} << 40);
  const Rational h = step * step;
  int compared = 0;
  for (int round = 0; round < 1500; ++round) {
    const Expr f = random.next(3).canonical;
    if (!f.contains("x")) continue;
    Point point = random_point(random), left = point, right = point;
    left["x"] = point["x"] - h;
    right["x"] = point["x"] + h;
    const symbolic::Interval slope = symbolic::enclose(differentiate(f, "x"), point, 600);
    const symbolic::Interval rise =
        symbolic::enclose(f, right, 600) - symbolic::enclose(f, left, 600);
    if (!is_usable(slope) || !is_usable(rise)) continue;
    const symbolic::Interval quotient = rise / symbolic::Interval(h + h, 600);
    const double exact = mpfr_get_d(slope.lower.get(), MPFR_RNDN);
    const symbolic::Interval off = symbolic::arithmetic::abs(quotient - slope);
    INFO("f = ", to_string(f), " at x = ", point["x"].to_string());
    // The truncation is h^2 of a third derivative.
    CHECK(mpfr_get_d(off.upper.get(), MPFR_RNDU) < 1e-20 * (1 + std::fabs(exact)));
    ++compared;
  }
  CHECK(compared > 500);
}

TEST_CASE("derivatives agree with central differences in double") {
  Generator random(6);
  int compared = 0;
  for (int round = 0; round < 1000; ++round) {
    const Expr f = random.next(2).canonical;
    if (!f.contains("x")) continue;
    Bindings at{{"x", 0.3 + 0.001 * random.below(500)}, {"y", -0.7}, {"N", 1.9}, {"M", 0.6}};
    const Expr first = differentiate(f, "x");
    const double slope = evaluate(first, at);
    const double third = evaluate(differentiate(differentiate(first, "x"), "x"), at);
    const double size = std::fabs(evaluate(f, at));
    if (!std::isfinite(size) || !std::isfinite(slope) || !(std::fabs(third) < 1e3)) continue;
    const double h = 1e-5;
    Bindings left = at, right = at;
    left["x"] -= h;
    right["x"] += h;
    const double quotient = (evaluate(f, right) - evaluate(f, left)) / (2 * h);
    // Truncation h^2/6 f''' (and as much again for its change), rounding of f over h with the
    // conditioning of a few operations.
    const double bound = h * h * (1 + std::fabs(third)) + 1e3 * 2.2e-16 * (1 + size) / h;
    INFO("f = ", to_string(f), " at x = ", at["x"]);
    CHECK(std::fabs(quotient - slope) < bound);
    ++compared;
  }
  CHECK(compared > 300);
}

TEST_CASE("double evaluation agrees with the enclosure") {
  Generator random(7);
  int compared = 0;
  for (int round = 0; round < 1500; ++round) {
    const Expr f = random.next(3).canonical;
    const Point point = random_point(random);
    const symbolic::Interval exact = symbolic::enclose(f, point, 256);
    if (!is_usable(exact)) continue;
    const double value = mpfr_get_d(exact.lower.get(), MPFR_RNDN);
    if (std::fabs(value) > 1e100 || std::fabs(value) < 1e-3) continue;
    Bindings at;
    double sensitivity = 1;
    for (const auto& [name, number] : point) at[name] = number.to_double();
    for (const auto& [name, number] : at) {
      sensitivity += std::fabs(evaluate(differentiate(f, name), at) * number / value);
    }
    if (!(sensitivity < 1e3)) continue;
    INFO("f = ", to_string(f));
    // Roundings of the arguments grow by `sensitivity` up to 1e3, those inside by as much.
    CHECK(evaluate(f, at) == doctest::Approx(value).epsilon(1e-9));
    ++compared;
  }
  CHECK(compared > 500);
}
