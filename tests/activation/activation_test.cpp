#include "scalecalc/activation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <thread>

#include "activation/enclosure.hpp"
#include "activation/zones.hpp"
#include "tolerance.hpp"

namespace scalecalc {
namespace {

using namespace testing;
using activation_room::find_zones;
using activation_room::Measure;
using activation_room::promised_units;
using activation_room::value_at;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double epsilon = std::numeric_limits<double>::epsilon();

std::string error_of(const std::string& text) {
  try {
    Activation::from_expression(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Ranges of x where value or slope are further from the expression than 16 ulp of
/// |f| + |x f'|, over 600 decades.
int inaccurate_ranges(const Activation& activation) {
  int count = 0;
  const auto& breaks = activation.breaks();
  for (std::size_t k = 0; k <= breaks.size(); ++k) {
    const double low = k == 0 ? -infinity : breaks[k - 1].at;
    const double high = k == breaks.size() ? infinity : breaks[k].at;
    const auto value = find_zones(
        activation.pieces()[k], [&](double x) { return activation.value(x); }, low, high,
        Measure::everywhere, promised_units);
    const auto slope = find_zones(
        activation.slope_pieces()[k], [&](double x) { return activation.slope(x); }, low, high,
        Measure::everywhere, promised_units);
    for (const auto& zone : value) MESSAGE("value inaccurate in ", zone.low, " .. ", zone.high);
    for (const auto& zone : slope) MESSAGE("slope inaccurate in ", zone.low, " .. ", zone.high);
    count += static_cast<int>(value.size() + slope.size());
  }
  return count;
}

}  // namespace

TEST_CASE("registered activations are functions of an expression") {
  const Activation mixed = Activation::from_expression("x + mish(2*x) - leaky_relu(x)");
  for (const double x : {-2.0, -0.5, 0.25, 3.0}) {
    const double expected =
        x + Activation::named("mish").value(2 * x) - Activation::named("leaky_relu").value(x);
    CHECK(mixed.value(x) == rounded(expected, 64));
  }
  CHECK(mixed.breaks().size() == 1);
  CHECK_THROWS_WITH_AS(Activation::from_expression("mish(x, 2)"),
                       doctest::Contains("mish takes 1 argument, not 2"), Error);
  CHECK_THROWS_WITH_AS(Activation::from_expression("mihs(x)"), doctest::Contains("'mish'"), Error);
}

TEST_CASE("activation: every named one keeps its digits from 1e-300 to 1e300") {
  for (const ActivationInfo& info : activations()) {
    CAPTURE(info.name);
    CHECK(inaccurate_ranges(Activation::named(info.name)) == 0);
  }
}

TEST_CASE("activation: expressions that cancel keep their digits") {
  for (const std::string text :
       {"x - sin(x)", "sqrt(1 + x^2) - 1", "sqrt(1 + x^2) - x", "x^2*exp(-x^2)",
        "exp(x)/(1 + exp(x))", "exp(-x)/(1 + exp(-x))^2", "log(1 + exp(x))", "log(1 + x^2)",
        "(exp(x) - 1)/(exp(x) + 1)", "1 - cos(x)", "x*sigmoid(1.7*x)", "asin(tanh(x))",
        "x/(1 + x^2)^(1/2)", "exp(exp(-x^2)) - 1", "erf(x) - x", "tanh(x) - erf(x)", "Phi(x) - 1/2",
        "softplus(x) - log(2)", "log(Phi(x))", "1/(1 + x^2)^3",
        // With the factor 10^-330 in front, which no double is.
        "x*(10^(-30)*tanh(x) + 10^(-330))"}) {
    CAPTURE(text);
    CHECK(inaccurate_ranges(Activation::from_expression(text)) == 0);
  }
}

TEST_CASE("activation: known values where the plain formula has none of the digits") {
  // x - tanh(x) = x^3/3 - 2x^5/15 + ...
  CHECK(Activation::named("tanhshrink").value(1e-6) ==
        doctest::Approx(1e-18 / 3 * (1 - 0.4e-12)).epsilon(4 * epsilon));
  CHECK(Activation::named("tanhshrink").value(-1e-100) ==
        doctest::Approx(-1e-300 / 3).epsilon(4 * epsilon));
  // x Phi(x) at -10: Phi(-10) = 7.6198530241605260660e-24.
  CHECK(Activation::named("gelu").value(-10) ==
        doctest::Approx(-7.6198530241605260660e-23).epsilon(8 * epsilon));
  CHECK(Activation::named("softplus").value(-700) ==
        doctest::Approx(std::exp(-700.0)).epsilon(4 * epsilon));
  CHECK(Activation::named("log_sigmoid").value(-700) == -700);
  CHECK(Activation::named("elu").value(-1e-20) == -1e-20);
  // 1/(1 + |x|)^2 is 1/x^2 but for 2/|x|.
  CHECK(Activation::named("softsign").slope(1e10) == within(1e-20, 3e-10 * 1e-20));
}

TEST_CASE("activation: slopes are central differences at 50 digits") {
  for (const ActivationInfo& info : activations()) {
    CAPTURE(info.name);
    const Activation activation = Activation::named(info.name);
    for (const double x : {-7.3, -2.1, -0.77, -0.031, 0.019, 0.63, 1.9, 5.2, 8.4}) {
      CAPTURE(x);
      const auto shifted = [&](const char* step) {
        const Expr at = Expr(Rational::parse(step)) + Expr(Rational::parse(std::to_string(x)));
        return substitute(activation.expression(), {{"x", at}});
      };
      // The error of the difference is h^2 f'''/6, far below a double.
      const Expr difference =
          (shifted("1e-20") - shifted("-1e-20")) / Expr(Rational::parse("2e-20"));
      const double expected = value_at(difference, 0.0);
      CHECK(activation.slope(x) == doctest::Approx(expected).epsilon(64 * epsilon));
    }
  }
}

TEST_CASE("activation: ends of the range, subnormals and NaN") {
  for (const ActivationInfo& info : activations()) {
    CAPTURE(info.name);
    const Activation activation = Activation::named(info.name);
    CHECK(std::isnan(activation.value(std::nan(""))));
    CHECK(std::isnan(activation.slope(std::nan(""))));
    for (const double x : {0.0, 5e-324, -5e-324, 1e-310, -1e-310, 1e300, -1e300, 1e18, -1e18}) {
      CAPTURE(x);
      CHECK_FALSE(std::isnan(activation.value(x)));
      CHECK_FALSE(std::isnan(activation.slope(x)));
    }
  }
  CHECK(Activation::named("gelu").value(-1e300) == 0);
  CHECK(Activation::named("gelu").value(1e300) == 1e300);
  CHECK(Activation::named("mish").slope(1e300) == 1);
  CHECK(Activation::named("square").value(1e200) == infinity);
}

TEST_CASE("activation: blocks of any length, in place too, agree with single values") {
  for (const std::string name : {"gelu", "relu6", "hardshrink", "tanhshrink", "mish", "selu"}) {
    CAPTURE(name);
    const Activation activation = Activation::named(name);
    for (const std::size_t count : {0, 1, 7, 8, 127, 128, 129, 1000}) {
      CAPTURE(count);
      std::vector<double> x(count), y(count), dy(count), alone(count);
      for (std::size_t i = 0; i < count; ++i) {
        x[i] = 12 * std::sin(static_cast<double>(i * i));
        if (i % 97 == 13) x[i] = std::nan("");
      }
      activation.evaluate(x.data(), y.data(), dy.data(), count);
      activation.evaluate(x.data(), alone.data(), nullptr, count);
      std::vector<double> in_place = x;
      activation.evaluate(in_place.data(), in_place.data(), nullptr, count);
      for (std::size_t i = 0; i < count; ++i) {
        if (std::isnan(x[i])) {
          CHECK((std::isnan(y[i]) && std::isnan(dy[i])));
          continue;
        }
        CHECK(y[i] == activation.value(x[i]));
        CHECK(dy[i] == activation.slope(x[i]));
        CHECK(y[i] == alone[i]);
        CHECK(y[i] == in_place[i]);
      }
    }
  }
}

TEST_CASE("activation: first use from several threads") {
  const Activation activation = Activation::from_expression("x - sin(x)");
  std::vector<double> values(4);
  std::vector<std::thread> threads;
  for (double& value : values) threads.emplace_back([&] { value = activation.value(0.25); });
  for (std::thread& thread : threads) thread.join();
  for (const double value : values) CHECK(value == activation.value(0.25));
}

TEST_CASE("activation: at a break the value and the slope are means of both sides") {
  CHECK(Activation::named("relu").slope(0) == 0.5);
  CHECK(Activation::named("abs").slope(0) == 0);
  CHECK(Activation::named("hardshrink").value(0.5) == 0.25);
  CHECK(Activation::named("hardshrink").slope(-0.5) == 0.5);
  CHECK(Activation::named("hard_sigmoid").slope(3) == doctest::Approx(1.0 / 12));
  CHECK(Activation::from_expression("step(x - 1)").value(1) == 0.5);
}

TEST_CASE("activation: removable singularities are filled") {
  const Activation sinc = Activation::from_expression("sin(x)/x");
  CHECK(sinc.value(0) == 1);
  CHECK(sinc.slope(0) == 0);
  CHECK(sinc.breaks().empty());
  const Activation ratio = Activation::from_expression("(exp(x) - 1)/x");
  CHECK(ratio.value(0) == 1);
  CHECK(ratio.slope(0) == doctest::Approx(0.5).epsilon(epsilon));
  CHECK(Activation::from_expression("(1 - cos(x))/x^2").value(1e-200) == 0.5);
  const Activation jump = Activation::from_expression("atan(1/x)");
  REQUIRE(jump.breaks().size() == 1);
  CHECK(jump.has_jump());
  CHECK(jump.breaks()[0].jump_size == doctest::Approx(M_PI).epsilon(2 * epsilon));
  CHECK_FALSE(Activation::from_expression("x*log(abs(x))").has_jump());
}

TEST_CASE("activation: mistakes are found within 100 ms and named") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"x*sigmod(x)", "unknown function 'sigmod' at column 3"},
      {"1/(", "at column 4"},
      {std::string(1000, '(') + "x" + std::string(1000, ')'), "nesting deeper than 256"},
      {"x^x", "'x^x' has no real value at x = -1"},
      {"1/x", "'1/x' has a pole at x = 0: this expectation does not exist"},
      {"1/(x^2 - 2)", "has a pole at x = -1.41421"},
      {"1/(x^4 - 2*x^2 + 1)", "has a pole at x = -1"},
      {"step(x)/x", "has a pole at x = 0"},
      {"abs(x)^(-1/2)", "has a pole at x = 0"},
      {"1/tanh(x)", "has a pole at x = 0"},
      {"sin(1/x)", "has a pole at x = 0"},
      {"log(x)", "no real value at x = -1"},
      {"log(max(x, 0))", "no real value at x = -1"},
      {"log(abs(x))", "has a pole at x = 0"},
      {"sqrt(x)", "no real value at x = -1"},
      {"x^(1/3)", "no real value at x = -1"},
      {"asin(x)", "no real value"},
      {"max(asin(x), x*x)", "no real value"},
      {"exp(max(log(x), sin(x)))", "no real value"},
      {"min(asin(2), x)", "no real value"},
      {"max(0.6, 0.5/x)", "has a pole at x = 0"},
      {"tan(x)", "cos(x)"},
      {"abs(sin(x))", "at most 64"},
      {"y", "unknown symbol 'y' at column 1"},
      {"", "empty formula"},
      {"x x", "at column 3"},
      {"x + ", "ends too early"},
      {"norm(x)", "norm"},
      {std::string(1 << 20, 'x'), "too long"},
      {std::string("x\0x", 3), "column 2"},
  };
  for (const auto& [text, part] : cases) {
    const std::string shown = text.substr(0, 60);
    CAPTURE(shown);
    const std::clock_t start = std::clock();
    const std::string message = error_of(text);
    const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    CAPTURE(message);
    CHECK(contains(message, part));
    CHECK(message.size() < 500);
    // Of the processor, whatever else runs beside; sanitizers take a few times as long.
    CHECK(taken < 0.5);
  }
}

TEST_CASE("activation: odd but good expressions") {
  const Activation constant = Activation::from_expression("3");
  CHECK(constant.value(17) == 3);
  CHECK(constant.slope(17) == 0);
  const Activation flat = Activation::from_expression("pi*2");
  CHECK(flat.value(-1e300) == 2 * M_PI);
  const Activation root = Activation::from_expression("max(x, 0)^(1/2)");
  CHECK(root.value(4) == 2);
  CHECK(root.value(-4) == 0);
  CHECK(root.slope(0) == infinity);
  const Activation capped = Activation::from_expression("min(1, 1/abs(x))");
  CHECK(capped.value(0) == 1);
  CHECK(capped.value(-4) == 0.25);
  CHECK(Activation::from_expression("min(0.6*x, softplus(x))").value(1e10) == 6e9);
  CHECK(Activation::from_expression("x*sin(1/x)").value(0) == 0);
  CHECK(Activation::from_expression("sqrt(abs(x))").slope(0) == 0);
}

}  // namespace scalecalc
