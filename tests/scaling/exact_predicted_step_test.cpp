#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "scalecalc/moments.hpp"
#include "scalecalc/scaling.hpp"

using namespace scalecalc;

namespace {

ModelSpec block() {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.layers = 2;
  spec.width = 8;
  spec.heads = 2;
  spec.ffn = 16;
  spec.sequence = 1000;
  return spec;
}

/// Every parameter with second moment 1/4 and gradient 9.
Trace flat(const Network& network) {
  Trace trace;
  for (const ParameterInfo& info : parameters(network)) {
    ParameterMoments one;
    one.path = info.path;
    one.rows = info.rows;
    one.columns = info.columns;
    one.second = {0.25, 0, 0};
    one.grad_second = {9, 0, 0};
    trace.parameters.push_back(one);
  }
  return trace;
}

Expr update(const char* name) {
  return optimizer(name).update;
}

}  // namespace

TEST_CASE("the predicted step adds up the branch matrices") {
  const Network network = build_network(block());
  const Trace trace = flat(network);
  // Two blocks of 4 matrices of 8 x 8 and two of 8 x 16; the head is not in a branch.
  const double entries = 2 * (4 * 64 + 2 * 128);
  const PredictedStep sgd = predicted_step(network, trace, update("sgd"));
  CHECK(sgd.delta_loss == doctest::Approx(9 * entries));
  CHECK(sgd.grad_norm == doctest::Approx(3 * std::sqrt(entries)));
  CHECK(sgd.update_ratio == doctest::Approx(3 / 0.5));
  const PredictedStep adam = predicted_step(network, trace, update("adam"));
  // sqrt(2/pi) (1 - 1/(4 T)) for T = 1000 tokens
  const double shape = std::sqrt(2 / std::numbers::pi) * (1 - 0.25e-3);
  CHECK(adam.delta_loss == doctest::Approx(3 * shape * entries).epsilon(1e-6));
  CHECK(adam.update_ratio == doctest::Approx(1 / 0.5));
  const PredictedStep ngd = predicted_step(network, trace, update("ngd"));
  CHECK(ngd.delta_loss == doctest::Approx(sgd.grad_norm));
  CHECK(ngd.update_ratio == doctest::Approx(sgd.update_ratio / sgd.grad_norm));
  CHECK(predicted_step(network, trace, update("sgd"), true).delta_loss > sgd.delta_loss);
}

TEST_CASE("a trace without gradients, or of another network, is refused") {
  const Network network = build_network(block());
  Trace trace = flat(network);
  trace.parameters[0].grad_second = Figure{};
  CHECK_THROWS_AS(predicted_step(network, trace, update("sgd")), Error);
  CHECK_THROWS_AS(predicted_step(network, Trace{}, update("sgd")), Error);
}

TEST_CASE("shapes are stated where second moments are not enough") {
  const Network network = build_network(block());
  CHECK(shape_factors(network, update("sgd")).empty());
  CHECK(shape_factors(network, update("lars")).empty());
  CHECK(shape_factors(network, update("adam")).size() == 1);
  // 8 x 8, 8 x 16 and 16 x 8
  CHECK(shape_factors(network, update("muon")).size() == 3);
}

TEST_CASE("profiles: what the input keeps of a stream, and how deep the signal goes") {
  ModelSpec spec = block();
  spec.width = spec.ffn = 512;
  spec.layers = 8;
  spec.sequence = 1;
  spec.activation = "relu";
  spec.norm = NormKind::rmsnorm;
  const auto profile = [&](Placement placement) {
    spec.placement = placement;
    const Network network = build_network(spec);
    return depth_profile(network, propagate(network));
  };
  // Attention hands one token on whole, relu halves it: branches of 1 and 1/2.
  const DepthProfile pre = profile(Placement::pre);
  CHECK(pre.sublayers.size() == 16);
  CHECK(pre.identity_weight == doctest::Approx(1 / std::sqrt(1 + 1.5 * 8)).epsilon(1e-6));
  CHECK(pre.sublayers[0].share == doctest::Approx(0.5).epsilon(1e-6));
  CHECK(pre.sublayers[1].share == doctest::Approx(0.2).epsilon(1e-6));
  const DepthProfile post = profile(Placement::post);
  // Second moments are stated to this share and better.
  CHECK(post.identity_weight == doctest::Approx(std::pow(2 * 1.5, -4)).epsilon(1e-6));
  CHECK(post.effective_depth == doctest::Approx(8 * (1 / 2.0 + 1 / 3.0)).epsilon(1e-6));
  CHECK(pre.effective_depth < post.effective_depth);
  CHECK(post.sublayers[3].gradient > 0);
}
