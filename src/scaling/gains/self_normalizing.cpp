#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scalecalc/gains.hpp"
#include "scaling/gains/digits.hpp"
#include "scaling/gains/expectation.hpp"
#include "scaling/gains/root.hpp"

namespace scalecalc {
namespace {

using namespace gains_room;

constexpr int scan_points = 49;
/// phi_alpha before the scale lambda: an expression in x and one parameter.
struct Family {
  Expr expression;
  std::string parameter;

  Activation at(const Rational& alpha) const {
    return Activation::from_expression(to_string(substitute(expression, {{parameter, alpha}})));
  }
  Activation derivative_at(const Rational& alpha) const {
    const Expr slope = differentiate(expression, parameter);
    return Activation::from_expression(to_string(substitute(slope, {{parameter, alpha}})));
  }
};

Family family_from(const std::string& name) {
  const std::string base = name == "selu" ? "elu" : name;
  const std::vector<std::string> names = activation_names();
  if (std::find(names.begin(), names.end(), base) != names.end()) {
    const ActivationInfo& info = activation(base);
    if (info.parameters.size() == 1) return {info.expression, info.parameters.front().name};
    throw Error(ErrorKind::input, "the family '" + name + "' has no parameter to solve for",
                "--family", "use selu, celu, leaky_relu, or an expression in x and a");
  }
  if (name.find_first_of("(*+-/^") == std::string::npos) {
    throw unknown_name("family", name, names, "--family");
  }
  ParseOptions options;
  options.assumptions = {{"x", Assumption::real}, {"a", Assumption::real}};
  options.known_symbols = {"x", "a"};
  options.where = "--family";
  const Family family{parse(name, options), "a"};
  if (family.expression.contains("a")) return family;
  throw Error(ErrorKind::input, "the family has no parameter a to solve for", "--family",
              "for example \"max(x, 0) + a*min(tanh(x), 0)\"");
}

/// E phi_alpha and its slope in alpha, at N(0, 1).
std::pair<double, double> excess(const Family& family, double alpha) {
  const Rational at = Rational::shortest(alpha);
  return {expectation(family.at(at), Moment::mean, {}).value,
          expectation(family.derivative_at(at), Moment::mean, {}).value};
}

SelfNormalizing describe(const Family& family, const Root& alpha) {
  const Activation phi = family.at(Rational::shortest(alpha.value));
  const SecondMap map(phi);
  const double second = map.second(1);
  SelfNormalizing solution;
  solution.alpha = alpha;
  const double lambda = 1 / std::sqrt(second);
  solution.lambda = {lambda, lambda * lambda * second - 1};
  solution.slope_second = lambda * lambda * map.slope_second(1);
  solution.q_slope = map.log_slope(1).value;
  solution.stable = std::fabs(solution.q_slope) < 1 - 1e-12;
  return solution;
}

/// Evenly in the logarithm where the range is positive.
std::vector<double> points_between(double low, double high) {
  if (low <= 0) return grid(low, high, scan_points);
  std::vector<double> points = grid(std::log(low), std::log(high), scan_points);
  for (double& point : points) point = std::exp(point);
  points.front() = low;
  points.back() = high;
  return points;
}

}  // namespace

std::vector<SelfNormalizing> solve_self_normalizing(const std::string& family_name,
                                                    double alpha_min, double alpha_max) {
  if (!(alpha_min < alpha_max) || !std::isfinite(alpha_min) || !std::isfinite(alpha_max)) {
    throw Error(ErrorKind::input, "the range of alpha is empty",
                fmt::format("from {} to {}", alpha_min, alpha_max), "for example 0.01 to 10");
  }
  const Family family = family_from(family_name);
  const Function mean = [&](double alpha) {
    return expectation(family.at(Rational::shortest(alpha)), Moment::mean, {}).value;
  };
  std::vector<SelfNormalizing> solutions;
  for (const Bracket& bracket : sign_changes(mean, points_between(alpha_min, alpha_max))) {
    const Root alpha = newton_root([&](double a) { return excess(family, a); }, bracket);
    solutions.push_back(describe(family, alpha));
  }
  if (!solutions.empty()) return solutions;
  const double low = mean(alpha_min), high = mean(alpha_max);
  throw Error(ErrorKind::unsolvable,
              fmt::format("no alpha from {} to {} makes E phi = 0", alpha_min, alpha_max),
              fmt::format("family {}: E phi goes from {:.6g} to {:.6g}", family_name, low, high),
              "give a wider range, or subtract the mean (solve tuned)");
}

std::map<std::string, std::string> self_normalizing_digits(const std::string& family_name,
                                                           const SelfNormalizing& solution,
                                                           int digits) {
  const Family family = family_from(family_name);
  const Family lifted{family.expression + 1, family.parameter};
  // E phi + 1, which does not vanish at the root, so that its digits are absolute ones.
  const Precise excess = [&](const Rational& alpha, int working) {
    return precise_moment(lifted.at(alpha), Moment::mean, 0, 1, working) - 1;
  };
  const Rational alpha = precise_root(excess, solution.alpha.value, digits);
  const Activation phi = family.at(alpha);
  const int working = digits + guard;
  const Rational second = precise_moment(phi, Moment::second, 0, 1, working);
  const Rational q_slope = precise_log_slope(phi, 0, 1, second, working);
  std::map<std::string, std::string> found = {{"lambda", inverse_root_digits(second, digits)},
                                              {"alpha", digits_of(Expr(alpha), digits)},
                                              {"q_slope", digits_of(Expr(q_slope), digits)}};
  if (!phi.has_jump()) {
    const Rational slope = precise_moment(phi, Moment::slope_second, 0, 1, working);
    found["slope_second"] = digits_of(Expr(slope / second), digits);
  }
  return found;
}

// lambda*(f + alpha*g) with f = max(x, 0), g = min(e^x - 1, 0): E = 0 gives alpha = -E f/E g, and
// f*g = 0 gives lambda^2 (E f^2 + alpha^2 E g^2) = 1.
std::pair<std::string, std::string> selu_constants(int digits) {
  const Activation f = Activation::from_expression("max(x, 0)");
  const Activation g = Activation::from_expression("min(exp(x) - 1, 0)");
  const auto at_one = [](const Activation& part, Moment moment) {
    return substitute(*closed_form(part, moment).formula, {{"q", 1}});
  };
  const Expr alpha = -at_one(f, Moment::mean) / at_one(g, Moment::mean);
  const Expr second = at_one(f, Moment::second) + pow(alpha, 2) * at_one(g, Moment::second);
  return {evaluate_digits(pow(second, Rational(-1, 2)), digits), evaluate_digits(alpha, digits)};
}

}  // namespace scalecalc
