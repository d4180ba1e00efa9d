#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

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

namespace {

std::vector<DepthProfile> profiles_of(const std::string& toml) {
  const Network network = build_network(parse_model(toml, "model"));
  return depth_profiles(network, propagate(network));
}

const std::string kOneToken =
    "[model]\nkind = \"transformer\"\nwidth = 512\nheads = 2\nffn = 512\nsequence = 1\n"
    "activation = \"relu\"\nnorm = \"rmsnorm\"\nlayers = 8\n";

}  // namespace

TEST_CASE("profiles: a skip of alpha keeps (1 + b/alpha^2)^(-1/2) a sum") {
  const auto found = profiles_of(kOneToken + "placement = \"post\"\nalpha = 3\nlambda = 1\n");
  REQUIRE(found.size() == 1);
  // Attention hands one token on, relu halves it.
  const double attn = 1.0 / 9, ffn = 0.5 / 9;
  CHECK(found[0].identity_weight ==
        doctest::Approx(std::pow((1 + attn) * (1 + ffn), -4)).epsilon(1e-6));
  CHECK(found[0].effective_depth ==
        doctest::Approx(8 * (attn / (1 + attn) + ffn / (1 + ffn))).epsilon(1e-6));
  CHECK(found[0].norm_behind_sums);
  CHECK_FALSE(found[0].norm_before_readers);
}

TEST_CASE("profiles: the blocks' shares of the squared gradient add up to 1") {
  for (const char* placement : {"post", "pre", "sandwich", "resi-dual", "rezero", "none"}) {
    CAPTURE(placement);
    for (const char* parallel : {"false", "true"}) {
      const auto found = profiles_of(
          "[model]\nkind = \"transformer\"\nwidth = 32\nheads = 2\n"
          "ffn = 64\nlayers = 5\nbias = true\nplacement = \"" +
          std::string(placement) + "\"\nparallel = " + parallel + "\n");
      REQUIRE(found.size() == 1);
      REQUIRE(found[0].blocks.size() == 5);
      double sum = 0;
      for (const BlockShare& block : found[0].blocks) sum += block.gradient;
      // Five shares of sums of dozens of squares: rounding.
      CHECK(sum == doctest::Approx(1).epsilon(1e-12));
      CHECK(found[0].blocks[3].path == "block[3]");
      CHECK(found[0].block_gradient > 0);
      CHECK(found[0].block_gradient <= 1);
    }
  }
}

TEST_CASE("profiles: two streams have the input in both") {
  const auto found = profiles_of(kOneToken + "placement = \"resi-dual\"\nalpha = 1\nlambda = 1\n");
  REQUIRE(found.size() == 1);
  // x keeps 3^(-4), z the part 1/(1 + 8 b)^(1/2) beside branches of 1 and 1/2; E (x + z)^2 is 2 and
  // twice what both have of each branch.
  double x = 1, z = 1, both = 1;
  for (int i = 0; i < 16; ++i) {
    const double branch = i % 2 == 0 ? 1 : 0.5;
    both = (both + branch) / std::sqrt(1 + branch);
    x /= std::sqrt(1 + branch);
    z += branch;
  }
  const double end = 2 + 2 * both / std::sqrt(z);
  // The end's second moment leaves out 1/width.
  CHECK(found[0].identity_weight ==
        doctest::Approx((x + 1 / std::sqrt(z)) / std::sqrt(end)).epsilon(1.0 / 512));
  CHECK(found[0].effective_depth > 2);
  CHECK(found[0].effective_depth < 8 * (1 / 2.0 + 1 / 3.0));
}

TEST_CASE("profiles: an encoder and its decoder each by itself") {
  const auto found = profiles_of(
      "[model]\nkind = \"transformer\"\nencoder_decoder = true\nlayers = 4\ndecoder_layers = 2\n"
      "width = 32\nheads = 2\nffn = 64\nvocab = 50\nplacement = \"post\"\n[input]\n"
      "kind = \"tokens\"\n[memory]\nsequence = 12\n");
  REQUIRE(found.size() == 2);
  CHECK(found[0].stack == "encoder");
  CHECK(found[0].sums == 8);
  CHECK(found[0].blocks[3].path == "encoder.block[3]");
  CHECK(found[1].stack.empty());
  CHECK(found[1].sums == 6);
  for (const DepthProfile& one : found) {
    double weight = 1;
    for (const SublayerShare& sum : one.sublayers) weight *= std::sqrt(1 - sum.share);
    CHECK(one.identity_weight == doctest::Approx(weight));
    CHECK(one.identity_weight < 0.9);
  }
}

TEST_CASE("profiles: a shortcut's path is the skip, sums inside branches are no stream's") {
  const std::string list =
      "[model]\nkind = \"layers\"\nfeatures = 64\nclasses = 8\nsequence = 1\n"
      "activation = \"identity\"\nalpha = 1\nlambda = 1\n";
  const std::string map = "type = \"linear\"\nwidth = 64\nstd = 0.25\n";  // E x^2 times 4
  const auto found =
      profiles_of(list + "[[layer]]\ntype = \"residual\"\n[[layer.layers]]\n" + map +
                  "[[layer.layers]]\ntype = \"residual\"\n[[layer.layers.layers]]\n" + map +
                  "[[layer.shortcut]]\n" + map + "[[layer]]\ntype = \"linear\"\nwidth = 8\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].sums == 1);
  // A skip of 4 beside a branch of 4 (1 + 4).
  CHECK(found[0].effective_depth == doctest::Approx(20.0 / 24).epsilon(1e-6));
  CHECK(profiles_of(list + "[[layer]]\n" + map).empty());
}
