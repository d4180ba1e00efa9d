#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "scalecalc/error.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/scaling.hpp"

using namespace scalecalc;

namespace {

std::vector<DepthVerdict> verdicts_of_spec(const ModelSpec& spec) {
  const Network network = build_network(spec);
  const Trace trace = propagate(network);
  return depth_verdicts(spec, trace, depth_profiles(network, trace));
}

std::string words_of(const std::vector<DepthVerdict>& verdicts) {
  std::string all;
  for (const DepthVerdict& verdict : verdicts) all += verdict.what + ",";
  return all;
}

Trace trace_with(const std::vector<double>& seconds, const std::vector<double>& cosines,
                 const std::vector<double>& gradients) {
  Trace trace;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    Site site;
    site.path = "layer[" + std::to_string(i) + "].act";
    site.kind = "activation";
    site.second.value = seconds[i];
    site.cross.value = seconds[i] * cosines[i];
    site.grad_second.value = gradients[i];
    trace.sites.push_back(site);
  }
  return trace;
}

std::vector<DepthVerdict> signal_verdicts(const Trace& trace) {
  return depth_verdicts(ModelSpec{}, trace, {});
}

}  // namespace

TEST_CASE("a steady signal is ok") {
  const auto verdicts = signal_verdicts(trace_with({1, 1, 1}, {0, 0.1, 0.2}, {1, 1, 1}));
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts[0].what == "ok");
  CHECK(verdicts[0].site.empty());
}

TEST_CASE("verdicts name the first site past the bound, and how fast it goes") {
  std::vector<double> seconds, cosines, gradients;
  for (int l = 0; l < 16; ++l) {
    seconds.push_back(std::pow(2.0, l));
    cosines.push_back(1 - std::pow(0.5, l + 1));
    gradients.push_back(std::pow(4.0, l - 15));
  }
  const auto verdicts = signal_verdicts(trace_with(seconds, cosines, gradients));
  REQUIRE(verdicts.size() == 3);
  CHECK(verdicts[0].what == "explodes");
  CHECK(verdicts[0].site == "layer[10].act");
  CHECK(verdicts[0].text.find("doubles every 1 steps") != std::string::npos);
  CHECK(verdicts[1].what == "collapses in rank");
  CHECK(verdicts[1].site == "layer[6].act");
  CHECK(verdicts[2].what == "gradient vanishes");
  CHECK(verdicts[2].site == "layer[10].act");
}

TEST_CASE("plain networks are judged as theory does") {
  const auto what = [](const std::string& toml) {
    return words_of(verdicts_of_spec(parse_model(toml, "model")));
  };
  const std::string mlp = "model = {kind=\"mlp\", layers=50, sequence=4, activation=\"relu\"}\n";
  CHECK(what(mlp + "init = {scheme=\"lecun\"}\ninput = {cross=0.3}").find("vanishes") == 0);
  CHECK(what(mlp + "init = {weight_variance=4}").find("explodes") == 0);
  CHECK(what("model = {kind=\"transformer\", layers=24, placement=\"post\", activation=\"relu\"}\n")
            .find("collapses in rank") == 0);
  CHECK(what("model = {kind=\"transformer\", layers=12, placement=\"pre\"}\n") == "ok,");
}

TEST_CASE("a network that overflows says where") {
  try {
    propagate(build_network(
        parse_model("model = {kind=\"mlp\", layers=3000, sequence=2, width=8, features=8, "
                    "activation=\"relu\"}\ninit = {weight_variance=4}",
                    "model")));
    FAIL("it did not overflow");
  } catch (const Error& error) {
    CHECK(error.where().find("layer[") == 0);
    CHECK(error.kind() == ErrorKind::input);
  }
}

namespace {

/// Post-Norm of one token, whose branches have second moments of 1 and 1/2 on a stream of 1.
ModelSpec post_norm(std::int64_t layers) {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.width = spec.ffn = 512;
  spec.heads = 2;
  spec.sequence = 1;
  spec.activation = "relu";
  spec.norm = NormKind::rmsnorm;
  spec.placement = Placement::post;
  spec.alpha = spec.lambda = Expr(1);
  spec.layers = layers;
  return spec;
}

double weight_of(const ModelSpec& spec) {
  const Network network = build_network(spec);
  return depth_profile(network, propagate(network)).identity_weight;
}

}  // namespace

TEST_CASE("a stack that forgets its input is told so, and what would keep it") {
  CHECK(words_of(verdicts_of_spec(post_norm(4))) == "ok,");                 // 3^(-2) = 0.11
  CHECK(words_of(verdicts_of_spec(post_norm(6))) == "wants small steps,");  // 0.037
  const auto found = verdicts_of_spec(post_norm(12));                       // 3^(-6) = 0.0014
  REQUIRE(found.size() == 1);
  CHECK(found[0].what == "forgets its input");
  CHECK(found[0].text.find("24 sums leave 0.0014 of") != std::string::npos);
  // After 16 sums 3^(-4) = 0.0123 is left, after the next 0.0087.
  CHECK(found[0].site == "block[8].attn");
  // Of branches of 1 and 1/2 behind norms, 1/(1 + 18)^(1/2).
  CHECK(found[0].change.find("placement pre keeps about 0.23") != std::string::npos);
  // (2N)^(1/2) and its inverse for Adam.
  CHECK(found[0].change.find("alpha = 4.9 with lambda = 0.204 keeps about 1 ") !=
        std::string::npos);
}

TEST_CASE("the alpha that a verdict names keeps half of the input") {
  ModelSpec spec = post_norm(12);
  const std::string change = verdicts_of_spec(spec)[0].change;
  REQUIRE(change.find("alpha = ") == 0);
  const double alpha = std::stod(change.substr(8));
  spec.alpha = Expr(Rational::shortest(alpha));
  // Three digits of alpha: d ln weight/d ln alpha is at most 2 ln 2.
  CHECK(weight_of(spec) == doctest::Approx(0.5).epsilon(0.01));
  CHECK(words_of(verdicts_of_spec(spec)) == "ok,");
}

TEST_CASE("a Pre-Norm stream may grow: nothing depends on its size") {
  const std::string tiny =
      "[model]\nkind = \"transformer\"\nlayers = 24\nwidth = 64\nheads = 4\nffn = 128\n"
      "vocab = 50\nplacement = \"pre\"\n[input]\nkind = \"tokens\"\nsecond = 0.0004\n";
  const ModelSpec spec = parse_model(tiny, "model");
  const Network network = build_network(spec);
  const Trace trace = propagate(network);
  const auto profiles = depth_profiles(network, trace);
  REQUIRE(profiles.size() == 1);
  CHECK(profiles[0].norm_before_readers);
  CHECK(profiles[0].sublayers.back().stream > 1e3 * 0.0004);
  CHECK(words_of(depth_verdicts(spec, trace, profiles)) == "ok,");
  // Behind the last sum something reads it without a norm.
  ModelSpec bare = spec;
  bare.placement = Placement::none;
  const Network open = build_network(bare);
  CHECK_FALSE(depth_profile(open, propagate(open)).norm_before_readers);
}

TEST_CASE("published models that train are not said to fail") {
  for (const char* name : {"bert-base", "gpt2", "llama", "deepnet-encoder", "deepnet-18-6",
                           "pre-ln-64", "resnet-v1", "resnet-v2", "t5-base", "vit-b"}) {
    CAPTURE(name);
    CHECK(words_of(verdicts_of_spec(find_model(name))) == "ok,");
  }
  const auto found = verdicts_of_spec(find_model("roberta-1280x48"));
  REQUIRE(!found.empty());
  CHECK(found[0].what == "forgets its input");
  CHECK(found[0].change.find("alpha = 9.8 with lambda = 0.102") != std::string::npos);
}
