#include "symbolic/arithmetic.hpp"

#include <cmath>
#include <functional>

#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::symbolic;

namespace {

Interval exactly(const Rational& value) {
  return Interval(value, 200);
}

Interval around(const Rational& low, const Rational& high) {
  Interval result(low, 200);
  result.upper = Interval(high, 200).upper;
  return result;
}

bool contains(const Interval& interval, double value) {
  return mpfr_cmp_d(interval.lower.get(), value) <= 0 &&
         mpfr_cmp_d(interval.upper.get(), value) >= 0;
}

double width(const Interval& x) {
  Real difference(x.bits());
  mpfr_sub(difference.get(), x.upper.get(), x.lower.get(), MPFR_RNDU);
  return mpfr_get_d(difference.get(), MPFR_RNDU);
}

using Unary = std::function<Interval(const Interval&)>;

}  // namespace

TEST_CASE("a wide interval holds the image of every point in it") {
  namespace a = arithmetic;
  const std::vector<std::pair<Unary, double (*)(double)>> functions{
      {[](const Interval& x) { return a::exp(x); }, [](double x) { return std::exp(x); }},
      {[](const Interval& x) { return a::sin(x); }, [](double x) { return std::sin(x); }},
      {[](const Interval& x) { return a::cos(x); }, [](double x) { return std::cos(x); }},
      {[](const Interval& x) { return a::tanh(x); }, [](double x) { return std::tanh(x); }},
      {[](const Interval& x) { return a::cosh(x); }, [](double x) { return std::cosh(x); }},
      {[](const Interval& x) { return a::abs(x); }, [](double x) { return std::fabs(x); }},
      {[](const Interval& x) { return a::erf(x); }, [](double x) { return std::erf(x); }},
      {[](const Interval& x) { return a::erfc(x); }, [](double x) { return std::erfc(x); }},
      {[](const Interval& x) { return a::phi(x); }, [](double x) { return a::phi(x); }},
      {[](const Interval& x) { return a::gelu(x); }, [](double x) { return a::gelu(x); }},
      {[](const Interval& x) { return a::silu(x); }, [](double x) { return a::silu(x); }},
      {[](const Interval& x) { return a::softplus(x); }, [](double x) { return a::softplus(x); }},
      {[](const Interval& x) { return a::relu(x); }, [](double x) { return a::relu(x); }},
      {[](const Interval& x) { return a::step(x); }, [](double x) { return a::step(x); }},
      {[](const Interval& x) { return a::sign(x); }, [](double x) { return a::sign(x); }},
      {[](const Interval& x) { return a::pow(x, Rational(3)); },
       [](double x) { return x * x * x; }},
      {[](const Interval& x) { return a::pow(x, Rational(2)); }, [](double x) { return x * x; }}};
  for (const auto& [in_interval, in_double] : functions) {
    for (int low = -12; low < 12; low += 3) {
      const Interval image = in_interval(around(Rational(low, 4), Rational(low + 8, 4)));
      for (int k = 1; k < 8; ++k) CHECK(contains(image, in_double((low + k) / 4.0)));
    }
  }
}

TEST_CASE("a point stays a point, up to the precision") {
  namespace a = arithmetic;
  for (const Interval& value : {a::exp(exactly(3)), a::phi(exactly(-3)), a::sin(exactly(2)),
                                a::pow(exactly(2), Rational(1, 3)), a::log(exactly(5))}) {
    CHECK(width(value) <= std::ldexp(1.0, -190) * 32);
  }
}

TEST_CASE("poles and missing values") {
  namespace a = arithmetic;
  CHECK_FALSE((exactly(1) / around(-1, 1)).lower.is_finite());
  CHECK((exactly(1) / exactly(0)).is_nan());
  CHECK(contains(exactly(1) / around(0, 2), 1e300));
  CHECK(a::log(exactly(-1)).is_nan());
  CHECK_FALSE(a::log(around(-1, 1)).lower.is_finite());
  CHECK(a::asin(exactly(2)).is_nan());
  CHECK(a::pow(exactly(-2), Rational(1, 2)).is_nan());
  CHECK(a::pow(exactly(-2), Interval(Rational(1, 3), 200)).is_nan());
  CHECK(contains(a::pow(exactly(-2), exactly(3)), -8));
}

TEST_CASE("angles too large to reduce are anything between -1 and 1") {
  const Interval huge = arithmetic::exp(exactly(1000000));
  CHECK(contains(arithmetic::sin(huge), -1));
  CHECK(contains(arithmetic::sin(huge), 1));
}

TEST_CASE("zero times an unbounded interval is zero") {
  const Interval product = exactly(0) * Interval::whole_line(200);
  CHECK(contains(product, 0));
  CHECK(product.lower.is_finite());
}
