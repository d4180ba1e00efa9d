#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "scalecalc/error.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/steps.hpp"

using namespace scalecalc;

// Steps after the first as predicted from moments beside steps that are taken.

namespace {

const std::string transformer =
    "[model]\nkind = \"transformer\"\nlayers = 2\nwidth = 64\nheads = 4\nffn = 128\n"
    "vocab = 60\nsequence = 8\nplacement = \"pre\"\n";

OptimizerOptions rule_of(const std::string& name, double rate) {
  OptimizerOptions made = optimizer_options(name);
  made.learning_rate = made.adamw_learning_rate = rate;
  made.weight_decay = 0;
  for (OptimizerOptions& rest : made.rest) {
    rest.learning_rate = rate;
    rest.weight_decay = 0;
  }
  return made;
}

}  // namespace

TEST_CASE("later steps: those that follow one gradient are exactly as many times the first") {
  constexpr int steps = 5;
  const Network network = build_network(parse_model(transformer, "test"));
  const Trace trace = propagate(network);
  for (const char* name : {"sgd", "momentum", "nesterov", "ngd", "lars", "adam", "lion", "lamb",
                           "rmsprop", "adagrad", "adafactor", "muon", "muon+adamw"})
    for (const bool warms_up : {false, true}) {
      CAPTURE(name);
      CAPTURE(warms_up);
      // At a rate that leaves the gradient what it is, and an eps that is none.
      OptimizerOptions rule = rule_of(name, 1e-9);
      for (OptimizerOptions* each = &rule; each != nullptr;
           each = each->rest.empty() ? nullptr : &each->rest.front()) {
        each->eps = 1e-15;
        if (warms_up) each->schedule.warmup = 3;
      }
      const StepSamples samples = sample_steps(network, {}, rule, steps, 1);
      const FirstStep first = predict_steps(network, trace, rule, 1);
      for (int step = 2; step <= steps; ++step) {
        CAPTURE(step);
        const FirstStep said = predict_steps(network, trace, rule, step);
        const auto at = static_cast<std::size_t>(step);
        // What the rate leaves out: gradients that change by some 1e-7 of themselves.
        constexpr double left_out = 1e-4;
        for (std::size_t i = 0; i < said.sites.size(); ++i) {
          const double one = samples.sites[i].change[1][0];
          if (one == 0) continue;
          CAPTURE(said.sites[i].path);
          CHECK(samples.sites[i].change[at][0] / one ==
                doctest::Approx(said.sites[i].change.value / first.sites[i].change.value)
                    .epsilon(left_out));
        }
        for (std::size_t i = 0; i < said.parameters.size(); ++i) {
          CAPTURE(said.parameters[i].path);
          CHECK(samples.parameters[i].update[at - 1][0] / samples.parameters[i].update[0][0] ==
                doctest::Approx(said.parameters[i].update.value / first.parameters[i].update.value)
                    .epsilon(left_out));
        }
        CHECK(said.loss_change.value / first.loss_change.value ==
              doctest::Approx((samples.loss[at][0] - samples.loss[0][0]) /
                              (samples.loss[1][0] - samples.loss[0][0]))
                  .epsilon(left_out));
      }
    }
}

TEST_CASE("later steps: sites move as predicted while steps are small") {
  constexpr int steps = 4, seeds = 16;
  const Network network = build_network(parse_model(transformer, "test"));
  const Trace trace = propagate(network);
  for (const auto& [name, rate] : {std::pair{"sgd", 1e-3}, {"adam", 2e-5}, {"lion", 2e-5}}) {
    CAPTURE(name);
    const OptimizerOptions rule = rule_of(name, rate);
    const StepSamples samples = sample_steps(network, {}, rule, steps, seeds);
    for (int step = 1; step <= steps; ++step) {
      CAPTURE(step);
      const FirstStep said = predict_steps(network, trace, rule, step);
      const FirstStep seen = steps_of(samples, static_cast<std::size_t>(step));
      for (std::size_t i = 0; i < said.sites.size(); ++i) {
        const Figure &a = said.sites[i].change, &b = seen.sites[i].change;
        INFO(said.sites[i].path << " said " << a.value << " seen " << b.value);
        CHECK(std::fabs(a.value - b.value) <= a.truncation + 4 * b.error);
        CHECK((b.value == 0 || a.truncation < a.value));
      }
      INFO("loss said " << said.loss_change.value << " seen " << seen.loss_change.value);
      CHECK(std::fabs(said.loss_change.value - seen.loss_change.value) <=
            said.loss_change.truncation + 4 * seen.loss_change.error);
    }
  }
}

TEST_CASE("later steps: a number of steps that there cannot be is refused") {
  const Network network = build_network(parse_model(transformer, "test"));
  const Trace trace = propagate(network);
  const OptimizerOptions rule = rule_of("sgd", 1e-3);
  CHECK_THROWS_AS(predict_steps(network, trace, rule, 0), Error);
  CHECK_THROWS_AS(predict_steps(network, trace, rule, 1001), Error);
  const StepSamples samples = sample_steps(network, {}, rule, 2, 1);
  CHECK_THROWS_AS(steps_of(samples, 0), Error);
  CHECK_THROWS_AS(steps_of(samples, 3), Error);
}
