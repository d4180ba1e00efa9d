#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "scalecalc/activation.hpp"
#include "tolerance.hpp"

namespace scalecalc {
namespace {

using namespace testing;
using Formula = std::function<double(double)>;

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}
double positive(double x) {
  return std::fmax(x, 0.0);
}
double between(double x, double low, double high) {
  return std::fmin(std::fmax(x, low), high);
}

/// Written by hand from the definitions, apart from the registry.
const std::map<std::string, Formula>& formulas() {
  static const std::map<std::string, Formula> all = {
      {"identity", [](double x) { return x; }},
      {"relu", positive},
      {"leaky_relu", [](double x) { return x > 0 ? x : 0.01 * x; }},
      {"prelu", [](double x) { return x > 0 ? x : 0.25 * x; }},
      {"relu6", [](double x) { return between(x, 0, 6); }},
      {"relu_squared", [](double x) { return positive(x) * positive(x); }},
      {"elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"selu",
       [](double x) {
         return 1.0507009873554804934193349852946 *
                (x > 0 ? x : 1.6732632423543772848170429916717 * std::expm1(x));
       }},
      {"celu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"gelu", [](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }},
      {"gelu_tanh",
       [](double x) {
         return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }},
      {"quick_gelu", [](double x) { return x * logistic(1.702 * x); }},
      {"silu", [](double x) { return x * logistic(x); }},
      {"mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"sigmoid", logistic},
      {"log_sigmoid", [](double x) { return std::log(logistic(x)); }},
      {"softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"softsign", [](double x) { return x / (1 + std::fabs(x)); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"hard_sigmoid", [](double x) { return between(x + 3, 0, 6) / 6; }},
      {"hard_tanh", [](double x) { return between(x, -1, 1); }},
      {"hard_swish", [](double x) { return x * between(x + 3, 0, 6) / 6; }},
      {"tanhshrink", [](double x) { return x - std::tanh(x); }},
      {"softshrink", [](double x) { return x > 0.5    ? x - 0.5
                                           : x < -0.5 ? x + 0.5
                                                      : 0; }},
      {"hardshrink", [](double x) { return std::fabs(x) > 0.5 ? x : 0; }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"gaussian", [](double x) { return std::exp(-x * x / 2); }},
      {"abs", [](double x) { return std::fabs(x); }},
      {"square", [](double x) { return x * x; }},
      {"exp", [](double x) { return std::exp(x); }},
  };
  return all;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "nothing thrown";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("registry: every activation is the formula it is known by") {
  CHECK(formulas().size() == activations().size());
  for (const ActivationInfo& info : activations()) {
    CAPTURE(info.name);
    REQUIRE(formulas().count(info.name) == 1);
    const Formula& formula = formulas().at(info.name);
    const Activation activation = Activation::named(info.name);
    for (int i = -160; i <= 160; ++i) {
      const double x = i / 20.0 + 0.00123;
      CAPTURE(x);
      // The formulas by hand cancel down from values of order 1 + |x|.
      const double tolerance =
          16 * std::numeric_limits<double>::epsilon() * (1 + std::fabs(x) + std::exp(x));
      CHECK(std::fabs(activation.value(x) - formula(x)) <= tolerance);
    }
  }
}

TEST_CASE("registry: names and aliases are identifiers, each once, and all are found") {
  std::set<std::string> seen;
  for (const std::string& name : activation_names()) {
    CAPTURE(name);
    CHECK(seen.insert(name).second);
    const ActivationInfo& info = activation(name);
    std::map<std::string, Expr> defaults;
    for (const ActivationParameter& parameter : info.parameters) {
      defaults.emplace(parameter.name, Expr(parameter.default_value));
    }
    CHECK(substitute(info.expression, defaults) == Activation::named(name).expression());
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos);
  }
  CHECK(activation("swish").name == "silu");
  CHECK(activation("hardswish").name == "hard_swish");
  for (const ActivationInfo& info : activations()) CHECK(!info.source.empty());
}

TEST_CASE("registry: an unknown name is answered with near ones") {
  const std::string text = message_of([] { activation("gelo", "--activation"); });
  CHECK(contains(text, "unknown activation 'gelo' (--activation)"));
  CHECK(contains(text, "gelu"));
  CHECK(
      contains(message_of([] { activation("sigmod", "--activation"); }), "did you mean 'sigmoid'"));
  CHECK(contains(message_of([] { activation("", "--activation"); }), "(--activation)"));
  CHECK(contains(message_of([] { Activation::named(std::string(1 << 20, 'z')); }), "unknown"));
  CHECK(contains(message_of([] { Activation::named(""); }), "unknown activation"));
}

TEST_CASE("registry: expressions depend on x and their parameters, and parse back") {
  for (const ActivationInfo& info : activations()) {
    CAPTURE(info.name);
    ParseOptions options;
    options.otherwise = Assumption::real;
    options.known_symbols = {"x"};
    for (const auto& parameter : info.parameters) options.known_symbols.push_back(parameter.name);
    CHECK(parse(to_string(info.expression), options) == info.expression);
    const Expr slope = differentiate(info.expression, "x");
    CHECK(parse(to_string(slope), options) == slope);
    CHECK(info.expression.contains("x"));
  }
}

TEST_CASE("registry: parameters") {
  const auto value = [](const char* name, const char* parameter, Rational setting, double x) {
    return Activation::named(name, {{parameter, setting}}).value(x);
  };
  CHECK(value("leaky_relu", "a", Rational(1, 5), -2) == -0.4);
  CHECK(value("prelu", "a", -1, -2) == 2);
  CHECK(value("silu", "b", 2, 1.5) == rounded(1.5 * logistic(3), 8));
  CHECK(value("softplus", "b", 4, -0.5) == rounded(std::log1p(std::exp(-2.0)) / 4, 8));
  CHECK(value("celu", "a", Rational(1, 2), -1) == rounded(0.5 * std::expm1(-2.0), 8));
  CHECK(value("elu", "a", 3, -1) == rounded(3 * std::expm1(-1.0), 8));
  CHECK(value("softshrink", "l", 2, 5) == 3);
  CHECK(value("hardshrink", "l", 2, 1.5) == 0);
  CHECK(Activation::named("leaky_relu", {{"a", Rational(1, 5)}}).name() == "leaky_relu(a=1/5)");
  CHECK(Activation::named("leaky_relu").name() == "leaky_relu");
}

TEST_CASE("registry: wrong parameters") {
  CHECK(contains(message_of([] {
                   Activation::named("leaky_relu", {{"b", 1}});
                 }),
                 "unknown parameter 'b' (leaky_relu)"));
  CHECK(contains(message_of([] { Activation::named("relu", {{"a", 1}}); }), "no parameters"));
  CHECK(contains(message_of([] { Activation::named("softplus", {{"b", 0}}); }), "b = 0"));
  CHECK(contains(message_of([] { Activation::named("celu", {{"a", 0}}); }), "a = 0"));
}

// Klambauer et al. 2017 give 18 digits; E phi(z) = 0 and E phi(z)^2 = 1 for
// phi = lambda relu + lambda alpha (exp - 1) determine the rest (mpmath, 60 digits).
TEST_CASE("registry: the constants of selu are exact") {
  const Activation selu = Activation::named("selu");
  CHECK(evaluate_digits(selu.slope_pieces()[1], 52) ==
        "1.050700987355480493419334985294606351958981204376405");
  CHECK(evaluate_digits(substitute(-selu.pieces()[0] / selu.slope_pieces()[1], {{"x", -1000}}),
                        52) == "1.673263242354377284817042991671652038461155348281216");
}

}  // namespace scalecalc
