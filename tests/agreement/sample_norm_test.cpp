#include "support.hpp"

namespace scalecalc {
namespace {

constexpr int seeds = 48;

ModelSpec transformer(Placement placement, NormKind norm) {
  ModelSpec spec = small_transformer(placement, norm);
  spec.layers = 1;
  spec.sequence = 24;
  return spec;
}

constexpr const char* model = R"([model]
kind = "layers"
features = 16
classes = 10
sequence = 64
height = 8
batch = 8
activation = "relu"
norm = "batchnorm"
norm_affine = true
norm_eps = 1e-5
[init]
scheme = "he"
[input]
cross = 0.3
)";

std::string op(const std::string& type, const std::string& table = "layer") {
  std::string text = "[[" + table + "]]\ntype = \"" + type + "\"\n";
  if (type == "conv2d") text += "channels = 16\nkernel = 3\npadding = 1\n";
  return text;
}

std::string branch(std::initializer_list<const char*> types) {
  std::string text = op("residual");
  for (const char* type : types) text += op(type, "layer.layers");
  return text;
}

std::string gains_outside(const Verification& verification) {
  std::string text;
  for (const Comparison& comparison : verification.parameters)
    if (!comparison.ok && comparison.path.ends_with(".gain")) text += describe(comparison);
  return text;
}

TEST_CASE("norms over the samples of one sequence") {
  for (const NormKind norm : {NormKind::batchnorm, NormKind::instancenorm}) {
    for (const Placement placement : {Placement::pre, Placement::post})
      agree(to_string(placement) + " " + to_string(norm), transformer(placement, norm), seeds);
  }
}

TEST_CASE("a batch shifts apart its sequences") {
  ModelSpec spec = transformer(Placement::post, NormKind::batchnorm);
  spec.batch = 4;
  VerifyOptions options;
  options.seeds = seeds;
  const Verification verification = verify_network(build_network(spec), options);
  std::string text;
  for (const Comparison& comparison : verification.sites)
    if (!comparison.ok) text += describe(comparison);
  CHECK(text == "");
}

TEST_CASE("gains of norms that stand before an activation") {
  const std::string pre_activation =
      op("conv2d") + branch({"norm", "activation", "conv2d", "norm", "activation", "conv2d"}) +
      op("norm") + op("activation") + op("pool");
  const ModelSpec spec = parse_model(model + pre_activation, "pre-activation");
  VerifyOptions options;
  options.seeds = seeds;
  CHECK(gains_outside(verify_network(build_network(spec), options)) == "");
}

// Slopes along the stream and the borders of the image are left out, by a stated amount.
TEST_CASE("activations after the sums") {
  const std::string block =
      branch({"conv2d", "norm", "activation", "conv2d", "norm"}) + op("activation");
  const std::string post_activation =
      op("conv2d") + op("norm") + op("activation") + block + block + op("pool");
  agree("post-activation", parse_model(model + post_activation, "post-activation"), seeds);
}

}  // namespace
}  // namespace scalecalc
