#include <doctest/doctest.h>

#include <limits>

#include "scalecalc/error.hpp"
#include "scalecalc/tensor.hpp"
#include "support.hpp"

namespace scalecalc::tensor {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

Expr rule(const std::string& text) {
  ParseOptions options;
  options.otherwise = Assumption::real;
  return parse(text, options);
}

const Vector kGradient = {3.0, -4.0, 0.0, 1.0, 2.0, -2.0};
const Vector kParameter = {1.0, 1.0, -2.0, 0.5, 0.0, 3.0};

template <class Real = double>
Vector direction(const std::string& text, const Vector& gradient = kGradient,
                 double global_norm = 5.0) {
  const std::vector<Real> g(gradient.begin(), gradient.end());
  const std::vector<Real> theta(kParameter.begin(), kParameter.end());
  std::vector<Real> out(g.size(), Real(-99));
  update_direction<Real>(rule(text), {theta.data(), 2, 3}, {g.data(), 2, 3}, global_norm,
                         out.data());
  return Vector(out.begin(), out.end());
}

Vector times(double factor, Vector a) {
  for (double& x : a) x *= factor;
  return a;
}

}  // namespace

TEST_CASE("update rules of the families") {
  const double size = std::sqrt(34.0), of_theta = std::sqrt(15.25);
  const Vector sign = {1.0, -1.0, 0.0, 1.0, 1.0, -1.0};
  CHECK(direction("g") == kGradient);
  CHECK(direction("sign(g)") == sign);
  CHECK(distance(direction("rms(theta)*sign(g)"), times(of_theta / std::sqrt(6.0), sign)) <
        10.0 * kEps);
  CHECK(distance(direction("norm(theta)*g/norm(g)"), times(of_theta / size, kGradient)) <
        50.0 * kEps);
  CHECK(distance(direction("g/global_norm(g)"), times(0.2, kGradient)) < 10.0 * kEps);
  const Vector u = direction("orthogonal(g)");
  // Two orthonormal rows, with <g, u> the nuclear norm.
  CHECK(u[0] * u[3] + u[1] * u[4] + u[2] * u[5] == doctest::Approx(0.0).epsilon(10.0 * kEps));
  CHECK(norm(u) == doctest::Approx(std::sqrt(2.0)).epsilon(10.0 * kEps));
  // Singular values of a 2 x 3 matrix: their squares have sum |g|^2 = 34 and product det(g g^T).
  const double determinant = 25.0 * 9.0 - 25.0;
  CHECK(dot(kGradient, u) ==
        doctest::Approx(std::sqrt(34.0 + 2.0 * std::sqrt(determinant))).epsilon(20.0 * kEps));
}

TEST_CASE("update rules combine") {
  Vector decayed = kGradient;
  for (std::size_t i = 0; i < decayed.size(); ++i) decayed[i] += 0.1 * kParameter[i];
  CHECK(distance(direction("g + theta/10"), decayed) < 20.0 * kEps);
  CHECK(distance(direction("-2*g"), times(-2.0, kGradient)) < 20.0 * kEps);
  CHECK(distance(direction("sqrt(2)*pi^2*g"),
                 times(std::sqrt(2.0) * 9.8696044010893586, kGradient)) < 500.0 * kEps);
  CHECK(distance(direction("(norm(g) + 1)*sign(g - theta)"),
                 times(std::sqrt(34.0) + 1.0, {1.0, -1.0, 1.0, 1.0, 1.0, -1.0})) < 100.0 * kEps);
  CHECK(distance(direction("orthogonal(3*g)"), direction("orthogonal(g)")) < 50.0 * kEps);
}

TEST_CASE("a zero gradient is no step, whatever it is divided by") {
  const Vector zero(6, 0.0);
  for (const char* text : {"g", "sign(g)", "g/norm(g)", "norm(theta)*g/norm(g)", "orthogonal(g)"}) {
    CHECK(direction(text, zero) == zero);
  }
  CHECK(direction("g/global_norm(g)", zero, 0.0) == zero);
}

TEST_CASE("tiny and huge gradients keep their direction") {
  for (const double size : {1e-200, 1e200}) {
    const Vector g = times(size, kGradient);
    CHECK(distance(direction("g/norm(g)", g), direction("g/norm(g)")) < 20.0 * kEps);
    CHECK(distance(direction("orthogonal(g)", g), direction("orthogonal(g)")) < 100.0 * kEps);
  }
}

TEST_CASE("a gradient that is not a number stays visible") {
  Vector broken = kGradient;
  broken[1] = NAN;
  for (const char* text : {"g", "sign(g)", "g/norm(g)", "orthogonal(g)"}) {
    CHECK(std::isnan(direction(text, broken)[1]));
  }
}

TEST_CASE("float directions are the rounded ones of the same gradient") {
  const Vector single = direction<float>("norm(theta)*g/norm(g)");
  const Vector twice = direction("norm(theta)*g/norm(g)");
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(single[i] == static_cast<double>(static_cast<float>(twice[i])));
  }
}

TEST_CASE("rules that cannot be read are explained") {
  for (const char* text : {"g*theta", "g^2", "1", "norm(g)", "g + 1", "h", "sin(g)", "sign(3)",
                           "norm(2)*g", "exp(norm(g))*g", "2^g"}) {
    CAPTURE(text);
    try {
      direction(text);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      CHECK_FALSE(error.hint().empty());
    }
  }
}

TEST_CASE("shapes must agree") {
  const Vector g(6, 1.0);
  Vector out(6);
  CHECK_THROWS_AS(
      update_direction<double>(rule("g"), {g.data(), 2, 3}, {g.data(), 3, 2}, 1.0, out.data()),
      Error);
}

TEST_CASE("the need for a global norm is seen anywhere in the rule") {
  CHECK(uses_global_norm(rule("g/global_norm(g)")));
  CHECK(uses_global_norm(rule("theta + 2*sign(g)*sqrt(global_norm(g))")));
  CHECK_FALSE(uses_global_norm(rule("norm(theta)*g/norm(g)")));
  CHECK_FALSE(uses_global_norm(rule("3")));
}

}  // namespace scalecalc::tensor
