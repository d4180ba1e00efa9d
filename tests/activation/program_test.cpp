#include "activation/program.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "activation/enclosure.hpp"
#include "activation/zones.hpp"

namespace scalecalc {
namespace {

Expr formula(const std::string& text) {
  ParseOptions options;
  options.assumptions = {{"x", Assumption::real}};
  return parse(text, options);
}

std::size_t length_of(const std::vector<std::string>& texts) {
  activation_room::Builder builder;
  activation_room::Lowering lowering(builder);
  for (const std::string& text : texts) lowering.lower(formula(text));
  return builder.code().size();
}

/// Smooth expressions without poles, of moderate size.
class RandomExpression {
 public:
  explicit RandomExpression(std::uint64_t seed) : random_(seed) {}

  std::string make(int depth) {
    const int kind = depth == 0 ? pick(2) : 2 + pick(8);
    const auto inner = [&] { return make(depth - 1); };
    switch (kind) {
      case 0: return "x";
      case 1: return std::to_string(1 + pick(9)) + "/" + std::to_string(1 + pick(7));
      case 2: return "(" + inner() + " + " + inner() + ")";
      case 3: return "(" + inner() + " - " + inner() + ")";
      case 4: return "(" + inner() + ")*(" + inner() + ")";
      case 5: return "(" + inner() + ")/(1 + (" + inner() + ")^2)";
      case 6: return "(" + inner() + ")^" + std::to_string(2 + pick(2));
      case 7: return "exp(-(" + inner() + ")^2)";
      case 8: return "(1 + (" + inner() + ")^2)^(1/2)";
      default: break;
    }
    const char* names[] = {"tanh", "sigmoid", "softplus", "erf",  "erfc", "Phi",
                           "sin",  "cos",     "atan",     "gelu", "silu"};
    return std::string(names[pick(11)]) + "(" + inner() + ")";
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("program: equal parts are computed once, and value and slope share them") {
  CHECK(length_of({"x*x"}) == 2);
  CHECK(length_of({"tanh(x) + tanh(x)^2"}) == 4);
  // x, e, sigmoid, product; then sigmoid(-x) needs -x and itself alone.
  CHECK(length_of({"x*sigmoid(x)", "sigmoid(-x)"}) == 6);
  CHECK(length_of({"x*Phi(x)", "exp(-x^2/2)"}) == length_of({"x*Phi(x)"}));
}

TEST_CASE("program: random expressions agree with their exact values") {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::string text = RandomExpression(seed).make(3);
    CAPTURE(text);
    const Activation activation = Activation::from_expression(text);
    for (const double x :
         {-30.0, -5.5, -1.25, -0.3, -1e-3, -1e-9, 1e-12, 2e-4, 0.11, 0.9, 3.3, 50.0}) {
      CAPTURE(x);
      const double exact = activation_room::value_at(activation.pieces()[0], x);
      const double value = activation.value(x);
      CAPTURE(exact);
      CAPTURE(value);
      ++compared;
      CHECK(activation_room::is_accurate(activation.pieces()[0], x, value));
    }
  }
  CHECK(compared == 60 * 12);
}

TEST_CASE("program: many registers") {
  // Every power stays alive until the sum: more than the registers at hand.
  std::string text = "sin(x)";
  for (int k = 2; k < 40; ++k)
    text += " + sin(" + std::to_string(k) + "*x)*cos(x/" + std::to_string(k) + ")";
  const Activation activation = Activation::from_expression(text + " + (" + text + ")^2");
  const double x = 0.37;
  CHECK(activation_room::is_accurate(activation.expression(), x, activation.value(x)));
}

}  // namespace scalecalc
