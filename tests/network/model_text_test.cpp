#include <doctest/doctest.h>

#include "describe.hpp"
#include "scalecalc/network.hpp"

using namespace scalecalc;

namespace {

/// Reads the text back and compares both the text and what is laid out.
void check_round_trip(const ModelSpec& spec) {
  const std::string text = model_text(spec);
  CAPTURE(text);
  const ModelSpec again = parse_model(text, "again.toml");
  CHECK(model_text(again) == text);
  if (!spec.alpha || !spec.lambda) return;
  const Network first = build_network(spec), second = build_network(again);
  CHECK(description(first) == description(second));
  const std::vector<ParameterInfo> a = parameters(first), b = parameters(second);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].path == b[i].path);
    CHECK(a[i].std == b[i].std);
    CHECK(a[i].rows == b[i].rows);
  }
}

}  // namespace

TEST_CASE("defaults, and every preset, are printed and read back") {
  check_round_trip(ModelSpec{});
  check_round_trip(default_spec(ModelSpec::Kind::mlp));
  for (const Preset& preset : presets()) check_round_trip(parse_model(preset.toml, preset.name));
}

TEST_CASE("every field survives") {
  ModelSpec spec;
  spec.layers = 3;
  spec.width = 24;
  spec.heads = 6;
  spec.kv_heads = 3;
  spec.ffn = 20;
  spec.vocab = 11;
  spec.sequence = 9;
  spec.batch = 2;
  spec.causal = spec.gated = spec.qk_norm = spec.qk_norm_all = spec.cross_attention = spec.ntk =
      true;
  spec.residual_attention = true;
  spec.bias = spec.norm_affine = true;
  spec.activation = "x*sigmoid(1.7*x)";
  spec.dropout = 0.1;
  spec.dropout_place = {.input = true, .branch = false, .stream = true};
  spec.attention_dropout = 1.0 / 3;
  spec.norm = NormKind::scalenorm;
  spec.norm_eps = 1e-5;
  spec.placement = Placement::branchnorm;
  spec.ramp = 0.1;
  spec.alpha = parse("(2*N)^(1/4)");
  spec.lambda.reset();
  spec.attention_scale = parse("1/head_width");
  spec.optimizer = "lion";
  spec.init.scheme = "weight_variance";
  spec.init.weight_variance = 1.5;
  spec.init.bias_variance = 0.05;
  spec.init.distribution = Distribution::uniform;
  spec.init.names = "hf-gpt2";
  spec.init.gain["q"] = parse("lambda/3");
  spec.init.gain["head"] = parse("0");
  spec.input.kind = InputKind::tokens;
  spec.input.second = 0.02;
  spec.input.zipf = 1.1;
  spec.input.positions = 0.3;
  spec.input.segments = 2;
  spec.input.multiplier = 16;
  spec.input.norm = true;
  spec.memory.sequence = 5;
  spec.memory.second = 2;
  spec.memory.cross = 0.25;
  spec.loss = Loss::mse;
  spec.target_second = 0.7;
  spec.reduction = Reduction::mean;
  const ModelSpec again = parse_model(model_text(spec), "again.toml");
  CHECK(model_text(again) == model_text(spec));
  CHECK(again.kv_heads == 3);
  CHECK(again.cross_attention);
  CHECK(again.activation == spec.activation);
  CHECK(again.dropout_place == spec.dropout_place);
  CHECK(again.attention_dropout == spec.attention_dropout);
  CHECK(again.norm == NormKind::scalenorm);
  CHECK(again.ramp == 0.1);
  CHECK(again.alpha.value() == spec.alpha.value());
  CHECK_FALSE(again.lambda.has_value());
  CHECK(again.init.names == "hf-gpt2");
  CHECK(again.init.weight_variance == 1.5);
  CHECK(again.init.gain.at("q") == parse("lambda/3"));
  CHECK(again.input.zipf == 1.1);
  CHECK(again.input.positions == 0.3);
  CHECK(again.input.segments == 2);
  CHECK(again.input.multiplier == 16);
  CHECK(again.input.norm == true);
  CHECK(again.memory.cross == 0.25);
  CHECK(again.loss == Loss::mse);
  CHECK(again.target_second == 0.7);
  CHECK(again.reduction == Reduction::mean);
}

TEST_CASE("a list of layers keeps its repeats and its own keys") {
  const ModelSpec spec = parse_model(
      "[model]\nkind = \"layers\"\nfeatures = 4\nlayers = 2\nactivation = \"tanh\"\n"
      "[[layer]]\ntype = \"repeat\"\nname = \"stage\"\ntimes = \"2*N\"\n"
      "[[layer.layers]]\ntype = \"residual\"\nskip = \"1/N\"\nbranch = 0.5\nnorm = \"rmsnorm\"\n"
      "[[layer.layers.layers]]\ntype = \"attention\"\nheads = 2\nkv_heads = 1\nqk_norm = "
      "true\nqk_norm_all = true\n"
      "scale = \"1/width\"\nstd = 0.1\ndropout = 0.2\n"
      "[[layer.layers.shortcut]]\ntype = \"dropout\"\nrate = 0.25\n"
      "[[layer]]\ntype = \"linear\"\nwidth = 3\ngain = \"lambda^2\"\n"
      "weight_norm = \"demodulated\"\n",
      "m.toml");
  check_round_trip(spec);
  const std::string text = model_text(spec);
  CHECK(text.find("times = \"2*N\"") != std::string::npos);
  CHECK(text.find("[[layer.layers.shortcut]]\ntype = \"dropout\"\nrate = 0.25\n") !=
        std::string::npos);
  CHECK(text.find("padding") == std::string::npos);
}
