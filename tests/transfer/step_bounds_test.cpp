#include "transfer/step_bounds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "transfer/axis_solver.hpp"

using namespace scalecalc;

namespace {

constexpr GrowthAxis width = GrowthAxis::width;

/// A rule, and the exponent of an entry of its update by hand: of a gradient g and theta p.
struct Rule {
  const char* text;
  std::function<double(double g, double p)> entry;
};
const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"sign(g)", [](double, double) { return 0.0; }},
      {"g", [](double g, double) { return g; }},
      {"rms(theta)*sign(g)", [](double, double p) { return p; }},
      {"max(rms(theta), 1/1000)*sign(g)", [](double, double p) { return std::max(p, 0.0); }},
      {"sqrt(rms(theta))*sign(g)", [](double, double p) { return p / 2; }},
      {"rms(theta)^(3/4)*g", [](double g, double p) { return g + 3 * p / 4; }},
      {"max(rms(theta), 1/1000)^(1/2)*sign(g)",
       [](double, double p) { return std::max(p, 0.0) / 2; }},
      {"sign(g) + theta*sign(g)", [](double, double p) { return std::max(p, 0.0); }},
      {"rms(theta)^2*sign(g)", [](double, double p) { return 2 * p; }},
  };
  return all;
}

/// What theta becomes by many steps of a rate; above `largest` nothing holds it.
double grown(const Rule& rule, double gradient, double init, double lr) {
  constexpr int steps = 400;
  double theta = init;
  for (int step = 0; step < steps; ++step) {
    const double change = lr + rule.entry(gradient, theta);
    // A relative step above 1 multiplies theta again.
    if (theta + 1e-9 < change) theta = change;
  }
  return theta;
}

}  // namespace

TEST_CASE("the largest rate is the one that steps, taken one after the other, find stable") {
  std::mt19937_64 draw(5);
  const auto eighths = [&](int low, int high) {
    return Rational(low + static_cast<std::int64_t>(draw() % std::uint64_t(high - low + 1)), 8);
  };
  for (const Rule& rule : rules()) {
    CAPTURE(rule.text);
    const Expr update = transfer_optimizer(rule.text).rule.update;
    for (int trial = 0; trial < 60; ++trial) {
      CAPTURE(trial);
      Step step;
      step.rule = &update;
      step.start.fan_in = static_cast<std::int64_t>(draw() % 2);
      step.start.fan_out = step.start.fan_in;
      step.start.multiplier = eighths(-8, 8);
      step.start.std = eighths(-12, 8);
      step.gradient = eighths(-8, 8);
      step.alignment = alignment_from(draw() % 2 == 0 ? "full" : "none");
      step.limit.value = eighths(-8, 0);
      solve_step(step);
      const double fan = step.start.fan_in.to_double(), gradient = step.gradient.to_double(),
                   init = step.start.std.to_double(), aligned = step.alignment.alpha.to_double();
      const auto is_stable = [&](double lr) {
        const double theta = grown(rule, gradient, init, lr);
        // As large as two powers of the size of all else: it grows without end.
        if (theta > 1e3) return false;
        const double change = lr + rule.entry(gradient, theta);
        if (change > theta + 1e-6) return false;
        return step.start.multiplier.to_double() + change + aligned * fan <=
               step.limit.value.to_double() + 1e-6;
      };
      // Just below it is stable, above it is not.
      constexpr double off = 1.0 / 64;
      CAPTURE(step.lr.to_string());
      CHECK(is_stable(step.lr.to_double() - off));
      CHECK_FALSE(is_stable(step.lr.to_double() + off));
      // theta is what these steps make of it.
      CHECK(std::abs(grown(rule, gradient, init, step.lr.to_double()) - step.theta.to_double()) <
            1e-6);
    }
  }
}

TEST_CASE("which bound is met, by name") {
  const auto named = [](const char* optimizer, const char* parametrization, const char* alignment,
                        const char* tensor, GrowthAxis axis) {
    TransferProblem problem;
    problem.optimizer = transfer_optimizer(optimizer);
    problem.parametrization = parametrization_from(parametrization);
    problem.alignment = alignment_from(alignment);
    problem.axes = {axis};
    for (const TransferBinding& binding : solve_transfer(problem).bindings)
      if (binding.tensor == tensor && binding.quantity == "lr") return binding.bound;
    return std::string("nothing");
  };
  constexpr GrowthAxis depth = GrowthAxis::depth;
  CHECK(named("adam", "mup", "full", "hidden", width) == "own_change");
  CHECK(named("adam", "mup", "1/2,1/2,1", "hidden", width) == "second_change");
  CHECK(named("lamb", "mup", "none", "output", width) == "relative_step");
  CHECK(named("adam", "standard", "1,1,1", "hidden", width) == "head_features");
  CHECK(named("adam", "depth-mup", "full", "hidden", depth) == "branch_sum");
  CHECK(named("adam", "mup", "full", "output", depth) == "own_change");
  CHECK(named("adam", "mup", "full", "hidden", GrowthAxis::batch) == "noise");
}

TEST_CASE("a rule with a floor is relative where theta is above it alone") {
  TransferProblem problem;
  problem.parametrization = parametrization_from("spectral");
  problem.axes = {width};
  problem.alignment = alignment_from("none");
  const auto head = [&](const char* rule) {
    problem.optimizer = transfer_optimizer(rule);
    return solve_transfer(problem).tensors[2].lr[width];
  };
  // A head of std n^-1 that changes logits by lr |U| n^(1/2).
  CHECK(head("sign(g)") == Rational(-1, 2));
  CHECK(head("rms(theta)*sign(g)") == Rational(0));
  CHECK(head("max(rms(theta), 1/1000)*sign(g)") == Rational(-1, 2));
}
