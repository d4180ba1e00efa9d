#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "scalecalc/gains.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

Activation named(const std::string& name) {
  return Activation::named(name);
}

FixedPoint settles(const char* name, double weight_variance, double bias_variance = 0) {
  return solve_fixed_points(named(name), weight_variance, bias_variance).front();
}

template <class Call>
std::string unsolvable(Call call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unsolvable);
    return error.what();
  }
  FAIL("it was solved");
  return "";
}

}  // namespace

TEST_CASE("selu's constants to fifty digits") {
  const auto [lambda, alpha] = selu_constants(50);
  CHECK(lambda == "1.0507009873554804934193349852946063519589812043764");
  CHECK(alpha == "1.6732632423543772848170429916716520384611553482812");
}

TEST_CASE("self-normalizing families") {
  const auto selu = solve_self_normalizing("selu", 0.01, 10);
  REQUIRE(selu.size() == 1);
  CHECK(selu[0].lambda.value == printed(1.0507009873554805, rounding(8)));
  CHECK(selu[0].alpha.value == printed(1.6732632423543772, rounding(8)));
  CHECK(std::fabs(selu[0].alpha.residual) < rounding(8));
  CHECK(selu[0].slope_second == printed(1.0715749924557993, 1e-15));
  CHECK(selu[0].stable);

  // celu nears the identity from above: E phi falls to 0 and never reaches it.
  unsolvable([] { solve_self_normalizing("celu", 0.01, 1e3); });

  const auto own = solve_self_normalizing("max(x, 0) + a*min(tanh(x), 0)", 0.01, 10);
  REQUIRE(own.size() == 1);
  const std::string alpha =
      self_normalizing_digits("max(x, 0) + a*min(tanh(x), 0)", own[0], 40).at("alpha");
  CHECK(std::stod(alpha) == printed(own[0].alpha.value, 1e-15));

  CHECK(unsolvable([] { solve_self_normalizing("softplus", 0.01, 10); }).find("E phi") !=
        std::string::npos);
  CHECK_THROWS_AS(solve_self_normalizing("gelu", 0.01, 10), Error);
  CHECK_THROWS_AS(solve_self_normalizing("sleu", 0.01, 10), Error);
  CHECK_THROWS_AS(solve_self_normalizing("selu", 10, 1), Error);
}

TEST_CASE("the root to many digits agrees with the closed one") {
  const auto selu = solve_self_normalizing("selu", 0.01, 10);
  const auto digits = self_normalizing_digits("selu", selu[0], 50);
  CHECK(std::make_pair(digits.at("lambda"), digits.at("alpha")) == selu_constants(50));
}

TEST_CASE("tuned activations and what they cost in slope") {
  const Tuned sigmoid = tuned(named("sigmoid"));
  CHECK(sigmoid.slope_before->value == printed(0.0448362, 5e-8));
  CHECK(sigmoid.slope_after->value == printed(0.152827, 5e-7));
  CHECK(sigmoid.centred_slope_after->value == printed(1.03359, 5e-6));
  CHECK_FALSE(sigmoid.scale_formula);
  const Tuned tanh = tuned(named("tanh"));
  CHECK(tanh.slope_before->value == printed(0.464403, 5e-7));
  CHECK(tanh.slope_after->value == printed(1.17781, 5e-6));
  CHECK(std::fabs(tanh.shift.value) <= tanh.shift.error);

  const Tuned relu = tuned(named("relu"));
  CHECK(equal(*relu.scale_formula, parse("(q/2)^(-1/2)")).verdict == Equality::Verdict::equal);
  CHECK(equal(*relu.centred_formula, parse("(q/2 - q/(2*pi))^(-1/2)")).verdict ==
        Equality::Verdict::equal);
  CHECK_FALSE(tuned(named("hardshrink")).slope_before);
  unsolvable([] { tuned(Activation::from_expression("3")); });
}

TEST_CASE("critical initialisations that are published") {
  const Critical tanh = solve_critical(named("tanh"), 0.05);
  CHECK(tanh.weight_variance.value == printed(1.76, 5e-3));
  CHECK(std::fabs(tanh.weight_variance.residual) < rounding(64));
  CHECK(solve_critical(named("tanh"), 2.01e-5).weight_variance.value == printed(1.05, 5e-3));
  CHECK(solve_critical(named("tanh"), 0).weight_variance.value == 1);
  CHECK(solve_critical(named("relu"), 0).weight_variance.value == printed(2, 1e-15));

  const Critical gelu = solve_critical_pair(named("gelu"));
  CHECK(gelu.bias_variance == printed(0.17292239, 5e-9));
  CHECK(gelu.weight_variance.value == printed(1.98305826, 5e-9));
  // A root of quadratures, whose error is 1e-13 of them.
  CHECK(gelu.q_slope == rounded(1, 4000));
  const Critical swish = solve_critical_pair(named("silu"));
  // Published copies print a tenth of it, 0.055514317, beside this weight variance.
  CHECK(swish.bias_variance == printed(0.55514317, 5e-9));
  CHECK(swish.weight_variance.value == printed(1.98800468, 5e-9));

  unsolvable([] { solve_critical_pair(named("sigmoid")); });
  unsolvable([] { solve_critical_pair(named("softplus")); });
  CHECK(unsolvable([] { solve_critical(named("relu"), 0.1); }).find("weight variance 2") !=
        std::string::npos);
  CHECK(unsolvable([] { solve_critical(named("hardshrink"), 0.1); }).find("jumps") !=
        std::string::npos);
  CHECK_THROWS_AS(solve_critical(named("relu"), -1), Error);
}

TEST_CASE("fixed points of known stacks") {
  const FixedPoint tanh = settles("tanh", 25.0 / 9);
  CHECK(tanh.activation_second == printed(0.4243, 5e-5));
  CHECK(tanh.chi == printed(1.210, 5e-4));
  CHECK(tanh.reached);
  CHECK(tanh.q_stable);
  CHECK(tanh.phase == "chaotic");
  // It is 0, found as a root of a quadrature.
  CHECK(tanh.c_star->value < 1e-12);

  const FixedPoint selu = settles("selu", 9.0 / 16);
  CHECK(std::sqrt(selu.activation_second) == printed(0.2024, 5e-5));
  CHECK(settles("selu", 1).q_star.value == printed(1, 1e-14));

  const FixedPoint relu = settles("relu", 2);
  CHECK(relu.phase == "critical");
  CHECK(relu.note.find("every q") == 0);
  CHECK(std::isinf(relu.q_depth_scale));
  CHECK(settles("tanh", 0.5).phase == "vanishes");
  CHECK(settles("tanh", 0.5).q_star.value == 0);
  CHECK(unsolvable([] { settles("relu", 3, 0.1); }).find("explodes") != std::string::npos);
  CHECK_THROWS_AS(settles("relu", 0), Error);
  CHECK_THROWS_AS(settles("relu", 1, -1), Error);
}

TEST_CASE("a fixed point is one of the map, at its own slopes") {
  for (const std::string name : {"tanh", "erf", "sigmoid", "hard_tanh", "sin", "softsign"}) {
    for (double sw2 : {1.5, 2.5}) {
      CAPTURE(name);
      CAPTURE(sw2);
      const Activation phi = named(name);
      for (const FixedPoint& point : solve_fixed_points(phi, sw2, 0.1)) {
        const double q = point.q_star.value;
        const auto next = [&](double from) {
          return sw2 * quadrature(phi, Moment::second, {0, from, {}}).value + 0.1;
        };
        // The error of roots of quadratures; of differences h^2 = 1e-10 and 1e-13/1e-5.
        CHECK(next(q) == doctest::Approx(q).epsilon(1e-12));
        const double h = 1e-5 * q;
        CHECK(point.q_slope ==
              doctest::Approx((next(q + h) - next(q - h)) / (2 * h)).epsilon(1e-7));
        const double c = point.c_star->value;
        const double cross = quadrature(phi, Moment::cross, {0, q, c}).value;
        // c is known to the error of its quadrature over 1 - chi.
        CHECK((sw2 * cross + 0.1) / q == doctest::Approx(c).epsilon(1e-11));
        CHECK((point.chi > 1) == (c < 1));
      }
    }
  }
}

TEST_CASE("a jump makes gradients explode, and the correlation still has its fixed point") {
  const FixedPoint point = settles("hardshrink", 0.8, 0.3);
  CHECK(std::isinf(point.chi));
  CHECK(point.phase == "chaotic");
  CHECK(point.c_star->value < 1);
  CHECK(point.c_star->value > 0);
}
