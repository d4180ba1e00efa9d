#include "moments/activation_chain.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "moments/gaussian_function.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

std::string chain_of(const std::string& first, const std::string& second) {
  return "[model]\nkind = \"layers\"\nfeatures = 64\nsequence = 8\nclasses = 10\n"
         "[input]\ncross = 0.3\n"
         "[[layer]]\ntype = \"linear\"\nwidth = 64\n"
         "[[layer]]\ntype = \"activation\"\nactivation = \"" +
         first + "\"\n[[layer]]\ntype = \"activation\"\nactivation = \"" + second + "\"\n";
}

}  // namespace

TEST_CASE("a composed function has the value and the slope of both") {
  for (const char* inner : {"tanh", "relu", "gelu", "x^2/2"})
    for (const char* outer : {"relu", "sigmoid", "silu", "x + sin(x)"}) {
      CAPTURE(inner);
      CAPTURE(outer);
      const auto text = composed(outer, inner), slope = composed_slope(outer, inner);
      REQUIRE(text);
      REQUIRE(slope);
      const Activation both = activation_of(*text), last = activation_of(outer),
                       first = activation_of(inner), steep = activation_of(*slope);
      // Each of both evaluations is within 16 units in the last place of |f| + |x f'|, of numbers
      // of at most 30.
      const double near_enough = 64 * 30 * std::numeric_limits<double>::epsilon();
      for (const double x : {-3.1, -0.7, 0.4, 1.3, 2.9}) {
        const double y = first.value(x);
        CHECK(std::fabs(both.value(x) - last.value(y)) <= near_enough);
        CHECK(std::fabs(both.slope(x) - last.slope(y) * first.slope(x)) <= near_enough);
        // Passes take the left slope of relu at a feature that is 0.
        const double due = std::string(outer) == "relu" && y == 0 ? 0 : last.slope(y);
        CHECK(std::fabs(steep.value(x) - due) <= near_enough);
      }
    }
}

TEST_CASE("too many kinks make no composed function") {
  // A zigzag of 41 teeth between -1/2 and 1/2 around each of which the outer function has three.
  std::string zigzag = "-41/2";
  for (int i = -20; i <= 20; ++i)
    zigzag += (i % 2 == 0 ? " + abs(x - (" : " - abs(x - (") + std::to_string(i) + "))";
  CHECK(composed("x + 1", zigzag));
  CHECK_FALSE(composed("abs(x) + abs(x - 1/4) + abs(x + 1/4)", zigzag));
}

TEST_CASE("activations in a row are averaged as one function") {
  const Trace trace = trace_of_model(chain_of("tanh", "relu"));
  const Site &first = site(trace, "activation[0]"), &second = site(trace, "activation[1]"),
             &below = site(trace, "linear[0]");
  const double q = below.second.value, c = below.cross.value / q;
  const Activation both = activation_of("max(tanh(x), 0)");
  const auto expected = [&](Moment moment) {
    return quadrature(both, moment,
                      {0, q, is_pair(moment) ? std::optional<double>(c) : std::nullopt})
        .value;
  };
  CHECK(second.second.value == near(expected(Moment::second)));
  // tanh is odd: half of its square is left, which a Gaussian of its size has too; its mean is
  // larger, as bounded numbers spread less.
  CHECK(second.second.value == near(first.second.value / 2));
  CHECK(second.mean.value == near(expected(Moment::mean)));
  CHECK(second.mean.value > 1.05 * std::sqrt(first.second.value / (2 * std::acos(-1.0))));
  // What the overlap's fluctuation bends is no more than what is left out.
  CHECK(std::fabs(second.cross.value - expected(Moment::cross)) <=
        second.cross.truncation + 0.02 * second.second.value);
  // Half of the features pass the gradient, of its part along the output all of it; of those that
  // do the slopes of tanh remain.
  CHECK(first.grad_second.value == near(second.grad_second.value / 2, 0.01));
  CHECK(first.grad_second.value > second.grad_second.value / 2);
  CHECK(below.grad_second.value ==
        near(second.grad_second.value * expected(Moment::slope_second), 0.05));
}

TEST_CASE("the last of a row lets a gradient along its output pass as a function of the first's") {
  Numbers numbers = calculus();
  const ActivationChain<Pairs> chain{"tanh", signal(1, 0.3, 64)};
  const auto slopes = chain_slopes(numbers, "relu", chain);
  REQUIRE(slopes);
  const auto of = [](const char* function, Moment moment) {
    return quadrature(activation_of(function), moment,
                      {0, 1, is_pair(moment) ? std::optional<double>(0.3) : std::nullopt})
        .value;
  };
  CHECK(slopes->slopes.second == near(0.5));
  // relu relu' = relu.
  CHECK(slopes->own.second == near(of("max(tanh(x), 0)", Moment::second) / 2));
  const double cross = of("max(tanh(x), 0)", Moment::cross);
  CHECK(slopes->own.cross == near(cross * (1 - slopes->slopes.cross), 10 * by_interpolation));
}

TEST_CASE("relu behind relu changes nothing") {
  const Trace once = trace_of_model(chain_of("relu", "identity")),
              twice = trace_of_model(chain_of("relu", "relu"));
  const Site &a = site(once, "activation[0]"), &b = site(twice, "activation[1]");
  CHECK(b.second.value == near(a.second.value));
  CHECK(b.cross.value == near(a.cross.value, by_interpolation));
  CHECK(site(twice, "linear[0]").grad_second.value ==
        near(site(once, "linear[0]").grad_second.value, by_interpolation));
}

TEST_CASE("three in a row") {
  const Trace trace = trace_of_model(
      chain_of("tanh", "relu") + "[[layer]]\ntype = \"activation\"\nactivation = \"sigmoid\"\n");
  const double q = site(trace, "linear[0]").second.value;
  const Activation all = activation_of("1/(1 + exp(-max(tanh(x), 0)))");
  CHECK(site(trace, "activation[2]").second.value ==
        near(quadrature(all, Moment::second, {0, q, std::nullopt}).value));
}
