#include <doctest/doctest.h>

#include <cmath>

#include "scalecalc/error.hpp"
#include "scalecalc/step_samples.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using scalecalc::testing::rounded;

namespace {

Network small() {
  ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
  spec.layers = 2;
  spec.width = 16;
  spec.features = 8;
  spec.vocab = 4;
  spec.sequence = 3;
  spec.activation = "tanh";
  return build_network(spec);
}
OptimizerOptions sgd(double rate) {
  OptimizerOptions made = optimizer_options("sgd");
  made.learning_rate = rate;
  return made;
}

}  // namespace

TEST_CASE("steps: values, changes and losses are those of passes taken by hand") {
  const Network network = small();
  PassOptions options;
  options.seed = 5;
  const StepSamples seen = sample_steps(network, options, sgd(0.1), 2, 2);
  REQUIRE(seen.loss.size() == 3);
  const PassSamples before = sample_passes(network, options, 2);
  for (std::size_t i = 0; i < seen.sites.size(); ++i) {
    CHECK(seen.sites[i].path == before.sites[i].path);
    CHECK(seen.sites[i].tokens == before.sites[i].tokens);
    for (std::size_t draw = 0; draw < 2; ++draw) {
      CHECK(seen.sites[i].change[0][draw] == 0);
      CHECK(seen.sites[i].second[0][draw] == rounded(before.sites[i].second[draw], 64));
    }
  }
  CHECK(seen.sites[0].change[2][0] == 0);  // the input
  CHECK(seen.sites[1].change[1][0] > 0);
  for (std::size_t draw = 0; draw < 2; ++draw) {
    PassOptions one = options;
    one.seed = options.seed + draw;
    Passes<double> passes(network, one);
    Trainer<double> trainer(passes, sgd(0.1));
    CHECK(seen.loss[0][draw] == rounded(passes.loss(), 4));
    StepNorms norms;
    trainer.step(norms);
    const ParameterSteps& first = seen.parameters[0];
    const double entries = double(first.rows) * double(first.columns);
    CHECK(first.update[0][draw] == rounded(norms.update[0] * norms.update[0] / entries, 16));
    trainer.step();
    CHECK(seen.loss[2][draw] == rounded(passes.loss(), 4));
  }
}

TEST_CASE("steps: without a rate nothing moves, and numbers out of range are refused") {
  const Network network = small();
  const StepSamples still = sample_steps(network, {}, sgd(0), 1, 1);
  for (const SiteSteps& site : still.sites) CHECK(site.change[1][0] == 0);
  CHECK_THROWS_AS(sample_steps(network, {}, sgd(1), 0, 1), Error);
  CHECK_THROWS_AS(sample_steps(network, {}, sgd(1), 1, 0), Error);
  CHECK_THROWS_AS(sample_steps(network, {}, sgd(-1), 1, 1), Error);
}

TEST_CASE("steps: the same bits on any number of threads, and asked to stop they stop") {
  const Network network = small();
  PassOptions one, four;
  four.threads = 4;
  const StepSamples a = sample_steps(network, one, sgd(0.1), 1, 5);
  const StepSamples b = sample_steps(network, four, sgd(0.1), 1, 5);
  for (std::size_t i = 0; i < a.sites.size(); ++i) CHECK(a.sites[i].change == b.sites[i].change);
  CHECK_THROWS_AS(sample_steps(network, one, sgd(0.1), 1, 5, false, [](double) { return false; }),
                  Error);
}
