#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "scalecalc/moments.hpp"
#include "support.hpp"

/// Branches without weights beside passes, and what is stated of their sums
/// (docs/theory/layers.md#kept-input).
namespace scalecalc {
namespace {

constexpr int seeds = 48;

const std::string begin =
    "[model]\nkind = \"layers\"\nfeatures = 48\nsequence = 6\nbatch = 4\nclasses = 8\n"
    "norm_affine = false\n[input]\ncross = 0.4\n[[layer]]\ntype = \"linear\"\nwidth = 48\n";
const std::string end =
    "[[layer]]\ntype = \"linear\"\nwidth = 48\n[[layer]]\ntype = \"activation\"\n"
    "activation = \"tanh\"\n";

std::string layer(const std::string& at, const std::string& name) {
  const auto of = [&](const std::string& type, const std::string& field) {
    return "[[" + at + "]]\ntype = \"" + type + "\"\n" + field + "\n";
  };
  if (name == "dropout") return of("dropout", "rate = 0.2");
  const bool is_norm = name.find("norm") != std::string::npos;
  return of(is_norm ? "norm" : "activation",
            (is_norm ? "norm" : "activation") + (" = \"" + name) + "\"");
}

/// x + 0.7 F(x) between weights.
std::string around(const std::vector<std::string>& body) {
  std::string text = begin + "[[layer]]\ntype = \"residual\"\nbranch = 0.7\n";
  for (const std::string& name : body) text += layer("layer.layers", name);
  return text + end;
}

Site sum_of(const Trace& trace) {
  const auto found = std::find_if(trace.sites.begin(), trace.sites.end(),
                                  [](const Site& site) { return site.path == "residual[0]"; });
  REQUIRE(found != trace.sites.end());
  return *found;
}

}  // namespace

TEST_CASE("branches without weights go with their input") {
  for (const auto& body : std::vector<std::vector<std::string>>{{"layernorm"},
                                                                {"rmsnorm"},
                                                                {"batchnorm"},
                                                                {"instancenorm"},
                                                                {"gelu"},
                                                                {"relu"},
                                                                {"layernorm", "tanh"},
                                                                {"batchnorm", "relu"},
                                                                {"gelu", "layernorm"},
                                                                {"dropout", "layernorm"},
                                                                {"rmsnorm", "dropout"}}) {
    std::string name;
    for (const std::string& one : body) name += one + " ";
    CAPTURE(name);
    const ModelSpec model = parse_model(around(body), name);
    agree(name.c_str(), model, seeds);
    // Not by what is stated: E x F is up to half of the sum, and was all of it. On a sphere of 23
    // dimensions a fourth moment is 2/25 less than a Gaussian's, and products of that are 1/25.
    const Site sum = sum_of(propagate(build_network(model)));
    constexpr double most = 3.0 / 25;
    CHECK(sum.second.truncation < most * sum.second.value);
  }
}

TEST_CASE("sums of an input and a norm of it in a branch of another sum") {
  const std::string inner = layer("layer.layers", "layernorm") +
                            "[[layer.layers]]\ntype = \"residual\"\n" +
                            layer("layer.layers.layers", "tanh");
  agree("nested", parse_model(begin + "[[layer]]\ntype = \"residual\"\n" + inner + end, "nested"),
        seeds);
  // Weights inside, beside a skip that goes on.
  const std::string weights = layer("layer.layers", "layernorm") +
                              "[[layer.layers]]\ntype = \"residual\"\n" +
                              layer("layer.layers.layers", "rmsnorm") +
                              "[[layer.layers.layers]]\ntype = \"linear\"\nwidth = 48\n";
  agree("weights",
        parse_model(begin + "[[layer]]\ntype = \"residual\"\n" + weights + end, "weights"), seeds);
}

// Of a gradient along y = x + a F, E x F is in the scale's gradient: 4 times too small.
TEST_CASE("the scale of a branch without weights") {
  const std::string text = begin +
                           "[[layer]]\ntype = \"residual\"\nbranch = 0.7\ntrainable = true\n" +
                           layer("layer.layers", "gelu");
  agree("scale", parse_model(text + end, "scale"), seeds);
  agree("below a norm", parse_model(text + layer("layer", "rmsnorm") + end, "below a norm"), seeds);
}

// E phi and pairs of tokens of few features: sizes of tokens, and weights that are not normal.
TEST_CASE("means behind few features") {
  for (const char* distribution : {"normal", "uniform", "truncated_normal"}) {
    CAPTURE(distribution);
    const std::string text =
        std::string(
            "[model]\nkind = \"mlp\"\nlayers = 2\nwidth = 128\nfeatures = 8\nclasses = 2\n"
            "sequence = 24\nbatch = 4\nactivation = \"relu\"\nnorm = \"none\"\n"
            "placement = \"none\"\n[input]\ncross = 0\n[init]\ndistribution = \"") +
        distribution + "\"\n";
    agree(distribution, parse_model(text, distribution), seeds);
  }
}

// Outputs of a group read few features together: sizes differ between groups, and samples overlap.
TEST_CASE("grouped convolutions in front of activations and norms") {
  for (const char* next : {"relu", "batchnorm"}) {
    CAPTURE(next);
    const std::string text =
        "[model]\nkind = \"layers\"\nfeatures = 24\nsequence = 9\nbatch = 4\nclasses = 10\n"
        "[input]\ncross = 0\n[[layer]]\ntype = \"conv2d\"\nchannels = 24\ngroups = 4\n" +
        layer("layer", next) + layer("layer", "elu");
    agree(next, parse_model(text, next), seeds);
  }
}

// Of a gradient along its outputs a convolution has brought back nothing along its inputs: 31% too
// small.
TEST_CASE("a convolution below many logits") {
  for (const char* stride : {"1", "2"}) {
    CAPTURE(stride);
    const std::string text =
        std::string(
            "[model]\nkind = \"layers\"\nfeatures = 48\nsequence = 12\nclasses = 300\n"
            "[input]\ncross = 0\n[init]\nscheme = \"lecun\"\n[loss]\nkind = \"mse\"\n"
            "[[layer]]\ntype = \"conv1d\"\nchannels = 48\nstride = ") +
        stride + "\n";
    agree(stride, parse_model(text, stride), seeds);
  }
}

}  // namespace scalecalc
