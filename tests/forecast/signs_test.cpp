#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "scalecalc/error.hpp"
#include "scalecalc/forecast.hpp"
#include "scalecalc/scaling.hpp"
#include "scalecalc/steps.hpp"

namespace scalecalc {
namespace {

Network stack_of(const std::string& more) {
  return build_network(
      parse_model("[model]\nkind = \"transformer\"\nwidth = 64\nheads = 4\nffn = 128\nvocab = 50\n"
                  "sequence = 8\n" +
                      more + "[loss]\nreduction = \"mean\"\n",
                  "test"));
}
OptimizerOptions rate_of(const std::string& name, double rate) {
  OptimizerOptions made = optimizer_options(name);
  made.learning_rate = made.adamw_learning_rate = rate;
  return made;
}

}  // namespace

TEST_CASE("forecast signs: at a small rate the identity weight is that of the start") {
  for (const char* placement : {"pre", "post", "none", "res-post", "sub-ln", "deepnorm"}) {
    CAPTURE(placement);
    const std::string more = std::string(placement) == "deepnorm"
                                 ? "layers = 3\nplacement = \"post\"\nalpha = 2\nlambda = \"1/2\"\n"
                                 : "layers = 3\nplacement = \"" + std::string(placement) + "\"\n";
    const Network network = stack_of(more);
    const ForecastSigns signs = forecast_signs(network, rate_of("adam", 1e-9));
    const double start = depth_profile(network, propagate(network)).identity_weight;
    CHECK(signs.identity_weight_at_start == start);
    // Steps of 1e-9 change branches by the square of some 1e-6 of their size.
    CHECK(signs.identity_weight == doctest::Approx(start).epsilon(1e-9));
    const ForecastSigns larger = forecast_signs(network, rate_of("adam", 1e-2));
    CHECK(larger.identity_weight_at_start == start);
    if (std::string(placement) == "res-post")  // norms keep the size of what the branches bring
      CHECK(larger.identity_weight == doctest::Approx(start).epsilon(1e-9));
    else
      CHECK(larger.identity_weight < 0.99 * start);
  }
}

TEST_CASE("forecast signs: one sum by hand") {
  const Network network = build_network(
      parse_model("[model]\nkind = \"layers\"\nfeatures = 32\nsequence = 4\nclasses = 10\n"
                  "[loss]\nreduction = \"mean\"\n"
                  "[[layer]]\ntype = \"residual\"\nname = \"block\"\nnorm = \"layernorm\"\n"
                  "[[layer.layers]]\ntype = \"linear\"\nname = \"map\"\nwidth = 32\n",
                  "test"));
  const OptimizerOptions optimizer = rate_of("adam", 1e-2);
  const Trace trace = propagate(network);
  const FirstStep step = predict_first_step(network, trace, optimizer);
  double change = 0, branch = 0;
  for (const StepSite& site : step.sites)
    if (site.path == "block.map") {
      change = site.change.value;
      branch = site.second;
    }
  REQUIRE(change > 0);
  const ForecastSigns signs = forecast_signs(network, optimizer);
  CHECK(signs.identity_weight ==
        doctest::Approx(1 / std::sqrt(1 + branch + kAlikeSteps * kAlikeSteps * change)));
  // Each entry of both matrices moves by the rate; the larger their std the less it is of it.
  const double of_map = 1e-2 * std::sqrt(32.0), of_head = of_map;
  CHECK(signs.relative_update == doctest::Approx(std::hypot(of_map, of_head) / std::sqrt(2.0)));
  const double map = of_map * 32 / (2 * std::sqrt(32.0)),
               head = of_head * std::sqrt(320.0) / (std::sqrt(32.0) + std::sqrt(10.0));
  CHECK(signs.relative_norm == doctest::Approx(std::sqrt((map * map + head * head) / 2)));
  CHECK(signs.guess == doctest::Approx(std::log(10.0)));
  CHECK(signs.loss == trace.loss.value);
  CHECK_FALSE(signs.grows_with_gradient);
}

TEST_CASE("forecast signs: of a sum over targets the loss is that of one") {
  const std::string more = "layers = 1\nplacement = \"pre\"\nbatch = 3\n";
  const Network mean = stack_of(more);
  Network sum = mean;
  sum.reduction = Reduction::sum;
  CHECK(forecast_signs(sum, rate_of("adam", 1e-3)).loss ==
        doctest::Approx(forecast_signs(mean, rate_of("adam", 1e-3)).loss));
}

TEST_CASE("forecast signs: a warm-up changes none, its steps are at the full rate") {
  const Network network = stack_of("layers = 2\nplacement = \"post\"\n");
  OptimizerOptions adam = rate_of("adam", 1e-2);
  const ForecastSigns without = forecast_signs(network, adam);
  adam.schedule.warmup = 50;
  const ForecastSigns with = forecast_signs(network, adam);
  CHECK(with.identity_weight == without.identity_weight);
  CHECK(with.relative_norm == without.relative_norm);
}

TEST_CASE("forecast signs: dropout is left out") {
  const Network plain = stack_of("layers = 2\nplacement = \"pre\"\n"),
                dropped = stack_of(
                    "layers = 2\nplacement = \"pre\"\ndropout = 0.2\nattention_dropout = 0.1\n");
  const ForecastSigns a = forecast_signs(plain, rate_of("adam", 1e-3)),
                      b = forecast_signs(dropped, rate_of("adam", 1e-3));
  CHECK(b.without_step == "");
  CHECK(b.identity_weight == doctest::Approx(a.identity_weight));
  CHECK(b.relative_norm == doctest::Approx(a.relative_norm));
}

TEST_CASE("forecast signs: branches that start closed are those that the first steps open") {
  const Network network = stack_of("layers = 3\nplacement = \"rezero\"\n");
  CHECK(depth_profile(network, propagate(network)).identity_weight == 1);
  const double rate = 0.05;
  const ForecastSigns signs = forecast_signs(network, rate_of("adam", rate));
  Network open = network;
  for (Layer& layer : open.layers)
    if (auto* residual = std::get_if<Residual>(&layer.op)) residual->branch = kAlikeSteps * rate;
  CHECK(signs.identity_weight_at_start ==
        doctest::Approx(depth_profile(open, propagate(open)).identity_weight));
  CHECK(signs.identity_weight_at_start < 0.99);
}

TEST_CASE("forecast signs: a clipped gradient makes a smaller step of a rule that grows with it") {
  const Network network = stack_of("layers = 1\nplacement = \"pre\"\n");
  OptimizerOptions sgd = rate_of("sgd", 1), adam = rate_of("adam", 1e-3);
  const ForecastSigns free = forecast_signs(network, sgd), of_adam = forecast_signs(network, adam);
  CHECK(free.grows_with_gradient);
  sgd.clip_norm = adam.clip_norm = 1e-3;
  double square = 0;
  for (const ParameterMoments& one : propagate(network).parameters)
    square += one.grad_second.value * double(one.rows) * double(one.columns);
  CHECK(forecast_signs(network, sgd).relative_norm ==
        doctest::Approx(free.relative_norm * sgd.clip_norm / std::sqrt(square)));
  CHECK(forecast_signs(network, adam).relative_norm == of_adam.relative_norm);
  for (const char* name : {"ngd", "lars", "lion", "muon", "adafactor"}) {
    CAPTURE(name);
    CHECK_FALSE(forecast_signs(network, rate_of(name, 1e-3)).grows_with_gradient);
  }
}

TEST_CASE("forecast signs: what the first step has no rule for is said, and what has none at all") {
  const ForecastSigns tied = forecast_signs(
      stack_of("layers = 2\nplacement = \"pre\"\ntie_head = true\n[input]\nkind = \"tokens\"\n"),
      rate_of("adam", 1e-3));
  CHECK(tied.without_step != "");
  CHECK(tied.why_none == "");
  CHECK(tied.identity_weight == tied.identity_weight_at_start);
  const ForecastSigns deep =
      forecast_signs(stack_of("layers = 40\nplacement = \"none\"\n"), rate_of("adam", 1e-3));
  CHECK(deep.why_none != "");
  CHECK(forecast(deep, {100, 0, 100}).probability == 0);
  Network squares = stack_of("layers = 1\nplacement = \"pre\"\n");
  squares.loss = Loss::mse;
  CHECK_THROWS_AS(forecast_signs(squares, rate_of("adam", 1e-3)), Error);
}

}  // namespace scalecalc
