#include "gradient_check.hpp"
#include "networks.hpp"
#include "passes/check.hpp"
#include "tolerance.hpp"

/// Every kind of layer inside a small network, its parameters' gradients against differences.
namespace scalecalc::passes {
namespace {

using namespace testing;

/// A linear layer in front, so that the gradient through the layer under test counts too.
Network around(std::vector<Layer> layers, std::int64_t width = 6, std::int64_t sequence = 4) {
  layers.insert(layers.begin(), {dense("first", width, width)});
  return network_of(std::move(layers), width, sequence);
}

/// What check() says of it, with a memory of four tokens.
std::string refusal_of(Network network) {
  network.memory_sequence = 4;
  try {
    check(network);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Layer norm_layer(NormKind kind, bool affine = false) {
  return {Norm{"norm", kind, 6, 0.1, affine}};
}

}  // namespace

TEST_CASE("layers: functions without a kernel of their own") {
  for (const char* function : {"silu", "softplus", "mish", "x*exp(-x^2)"}) {
    CAPTURE(function);
    check_gradients(around({{ActivationLayer{"act", function}}}));
  }
}

TEST_CASE("layers: gated units") {
  for (const char* function : {"sigmoid", "silu", "gelu"}) {
    CAPTURE(function);
    check_gradients(around(
        {{Gated{"act", function, dense("gate", 6, 9), dense("in", 6, 9)}}, {dense("out", 9, 6)}}));
  }
}

TEST_CASE("layers: dropout keeps its mask from pass to pass") {
  check_gradients(around({{Dropout{"dropout", 0.4}}}));
  const Network dropped = around({{Dropout{"dropout", 0.4}}});
  const Network kept = around({{Dropout{"dropout", 0.0}}});
  Passes<double> passes(dropped, {});
  const double loss = passes.loss();
  CHECK(loss == passes.loss());
  CHECK(loss != Passes<double>(kept, {}).loss());
}

TEST_CASE("layers: attention with grouped heads, qk-norm, dropout and a mask") {
  for (const bool causal : {false, true}) {
    for (const std::int64_t kv_heads : {1, 2, 4}) {
      CAPTURE(kv_heads);
      Attention layer = attention("attn", 8, 4, kv_heads);
      layer.causal = causal;
      layer.dropout = kv_heads == 2 ? 0.3 : 0.0;
      layer.qk_norm = kv_heads != 4;
      check_gradients(around({{layer}}, 8));
    }
  }
}

TEST_CASE("layers: rotary positions with grouped heads, qk-norm and a mask") {
  for (const std::int64_t width : {2, 4}) {
    Attention layer = attention("attn", 8, 2, 1);
    layer.causal = layer.qk_norm = width == 2;
    layer.rotary = {width, 10.0};
    check_gradients(around({{layer}}, 8));
  }
}

TEST_CASE("layers: ALiBi with grouped heads, qk-norm and dropout") {
  for (const bool qk_norm : {false, true}) {
    Attention layer = attention("attn", 8, 2, 1);
    layer.causal = true;
    layer.qk_norm = qk_norm;
    layer.alibi = 1;
    if (qk_norm) layer.dropout = 0.25;
    check_gradients(around({{layer}}, 8));
  }
}

TEST_CASE("layers: windows with grouped heads, rotary positions and dropout") {
  for (const std::int64_t window : {1, 2}) {
    Attention layer = attention("attn", 8, 2, 1);
    layer.causal = true;
    layer.window = window;
    layer.rotary = {4, 10.0};
    if (window == 2) layer.dropout = 0.25;
    check_gradients(around({{layer}}, 8));
  }
}

TEST_CASE("layers: windows that no attention has") {
  const auto refused = [](const auto& change) {
    Attention layer = attention("attn", 8, 2, 2);
    layer.causal = true;
    layer.window = 2;
    change(layer);
    try {
      check(around({{layer}}, 8));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string none =
      "a window is of causal attention to tokens (attn); leave out the memory and "
      "residual_attention";
  CHECK(refused([](Attention&) {}) == "no error");
  CHECK(refused([](Attention& layer) { layer.causal = false; }) == none);
  CHECK(refused([](Attention& layer) { layer.residual_attention = true; }) == none);
  CHECK(refused([](Attention& layer) { layer.window = -1; }) ==
        "a window of -1 tokens (attn); use 1 at least");
}

TEST_CASE("layers: ALiBi where it has no meaning") {
  const auto refused = [](const auto& change) {
    Attention layer = attention("attn", 8, 2, 2);
    layer.causal = true;
    layer.alibi = 1;
    change(layer);
    try {
      check(around({{layer}}, 8));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string none =
      "alibi is of causal attention to tokens (attn); leave out the memory, rotary positions and "
      "residual_attention";
  CHECK(refused([](Attention&) {}) == "no error");
  CHECK(refused([](Attention& layer) { layer.causal = false; }) == none);
  CHECK(refused([](Attention& layer) { layer.rotary = {4, 10.0}; }) == none);
  CHECK(refused([](Attention& layer) { layer.residual_attention = true; }) == none);
  CHECK(refused([](Attention& layer) { layer.alibi = 1.0 / 0.0; }) != "no error");
}

TEST_CASE("layers: rotary positions that no head has") {
  const auto refused = [](const Rotary& rotary, bool over_memory) {
    Attention layer = attention("attn", 8, 2, 2);
    layer.rotary = rotary;
    layer.over_memory = over_memory;
    return refusal_of(around({{layer}}, 8));
  };
  CHECK(refused({4, 10.0}, false) == "no error");
  for (const std::int64_t width : {-2, 3, 6})
    CHECK(refused({width, 10.0}, false) ==
          "rotary positions turn " + std::to_string(width) +
              " features of a head of 4 (attn); use an even number, at most the head's");
  for (const double base : {1.0, -3.0, 1.0 / 0.0})
    CHECK(refused({4, base}, false).find("(attn); use a number above 1") != std::string::npos);
  CHECK(refused({4, 10.0}, true) == "rotary positions of a memory (attn); leave them out");
}

TEST_CASE("layers: residual attention with grouped heads, dropout and a mask") {
  for (const bool causal : {false, true}) {
    std::vector<Layer> layers;
    for (const char* path : {"one", "two", "three"}) {
      Attention layer = attention(path, 8, 4, 2);
      layer.causal = causal;
      layer.residual_attention = true;
      layer.dropout = 0.3;
      layers.push_back({residual(path, {{layer}})});
    }
    check_gradients(around(layers, 8));
  }
}

TEST_CASE("layers: residual attention adds scores of one shape") {
  const auto refused = [](const Attention& second, bool pooled) {
    Attention first = attention("one", 8, 4, 2);
    first.residual_attention = true;
    std::vector<Layer> layers = {{first}};
    if (pooled) layers.push_back({Pool{"pool"}});
    layers.push_back({second});
    return refusal_of(around(layers, 8));
  };
  Attention other = attention("two", 8, 4, 2);
  other.residual_attention = true;
  CHECK(refused(other, false) == "no error");
  CHECK(refused(other, true) ==
        "residual_attention adds scores of 4 heads and 4 tokens to those of 4 and 1 (two); make "
        "heads and tokens equal");
  Attention fewer = attention("two", 8, 2, 2);
  fewer.residual_attention = true;
  CHECK(refused(fewer, false).find("4 heads and 4 tokens to those of 2 and 4") !=
        std::string::npos);
  other.over_memory = true;
  CHECK(refused(other, false) ==
        "residual_attention over a memory (two); leave out one of the two");
}

TEST_CASE("layers: attention over memory") {
  Attention layer = attention("cross", 8, 4, 2);
  layer.over_memory = layer.causal = true;
  layer.k = dense("cross.k", 5, 4);
  layer.v = dense("cross.v", 5, 4);
  layer.dropout = 0.2;
  Network network = around({{residual("cross", {{layer}})}}, 8);
  network.memory_sequence = 7;
  network.memory_second = 2.0;
  network.memory_cross = 0.5;
  check_gradients(network);
}

TEST_CASE("layers: an encoder, read by attentions of more than one block") {
  Attention self = attention("enc.attn", 8, 2, 2), first = attention("first", 8, 4, 2),
            second = attention("second", 8, 4, 4);
  first.over_memory = second.over_memory = true;
  second.dropout = 0.2;
  const Encoder encoder{"enc", {{residual("enc.attn", {{self}})}, {dense("enc.out", 8, 8)}}};
  Network network =
      around({{encoder}, {residual("first", {{first}})}, {residual("second", {{second}})}}, 8);
  network.memory_sequence = 5;
  check_gradients(network);
  // Of tokens, with positions of their own.
  ModelSpec spec;
  spec.encoder_decoder = true;
  spec.layers = 1;
  spec.decoder_layers = 2;
  spec.width = spec.ffn = 8;
  spec.vocab = 5;
  spec.sequence = 3;
  spec.memory.sequence = 4;
  spec.input.kind = InputKind::tokens;
  spec.input.positions = 0.5;
  check_gradients(build_network(spec));
}

TEST_CASE("layers: an encoder stands once, before what reads it, and begins as the input does") {
  Attention cross = attention("cross", 8, 4, 2);
  cross.over_memory = true;
  const Encoder encoder{"enc", {{dense("enc.in", 8, 8)}}}, wider{"enc", {{dense("enc.in", 8, 9)}}};
  const auto refused = [](const std::vector<Layer>& layers, bool tokens, std::int64_t memory) {
    Network network = around(layers, 8);
    network.memory_sequence = memory;
    if (tokens) {
      network.input = InputKind::tokens;
      network.layers.insert(network.layers.begin(), {Embedding{"embedding", 5, 8, 1.0}});
    }
    try {
      check(network);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto starts = [&](const std::string& text, const char* with) {
    CAPTURE(text);
    CHECK(text.starts_with(with));
  };
  CHECK(refused({{encoder}, {cross}}, false, 4) == "no error");
  starts(refused({{encoder}, {cross}}, false, 0), "memory_sequence is 0");
  starts(refused({{encoder}, {encoder}, {cross}}, false, 4), "the memory is there already (enc)");
  starts(refused({{cross}, {encoder}}, false, 4), "the memory is there already (enc)");
  starts(refused({{wider}, {cross}}, false, 4), "width 9 expected, got 8 (cross.k)");
  starts(refused({{encoder}, {cross}}, true, 4), "the input is token ids (enc.in)");
}

TEST_CASE("layers: every norm") {
  for (const NormKind kind : {NormKind::layernorm, NormKind::rmsnorm, NormKind::scalenorm,
                              NormKind::batchnorm, NormKind::instancenorm, NormKind::none}) {
    CAPTURE(static_cast<int>(kind));
    check_gradients(around({norm_layer(kind), {ActivationLayer{"act", "tanh"}}}));
    check_gradients(around({norm_layer(kind, true), {ActivationLayer{"act", "tanh"}}}));
  }
}

TEST_CASE("layers: multiplied and normalised weights") {
  for (const WeightNorm kind : {WeightNorm::none, WeightNorm::spectral, WeightNorm::demodulated}) {
    CAPTURE(static_cast<int>(kind));
    for (const std::int64_t width : {3, 6, 11}) {
      Linear layer = dense("layer", 6, width);
      layer.std = 1.0;
      layer.multiplier = 0.7;
      layer.bias = true;
      layer.bias_std = 0.5;
      layer.weight_norm = kind;
      check_gradients(
          around({{layer}, {ActivationLayer{"act", "tanh"}}, {dense("back", width, 6)}}));
    }
  }
}

TEST_CASE("layers: residuals with a trained scalar, and with a shortcut") {
  Residual trained = residual("block", {{dense("block.in", 6, 6)}});
  trained.trainable_branch = true;
  trained.norm = Norm{"block.norm", NormKind::layernorm, 6, 0.0, true};
  trained.shortcut = {{dense("block.shortcut", 6, 6)}};
  check_gradients(around({{trained}, {ActivationLayer{"act", "tanh"}}}));
  trained.branch = 0.0;
  check_gradients(around({{trained}}));
  Residual narrowing = residual("block", {{dense("block.in", 6, 2)}, {dense("block.out", 2, 5)}});
  narrowing.shortcut = {{dense("block.shortcut", 6, 5)}};
  check_gradients(around({{narrowing}, {dense("back", 5, 6)}}));
}

TEST_CASE("layers: a dual stream") {
  DualStream dual{"dual", {}, {"dual.norm", NormKind::layernorm, 6, 0.0, true}};
  for (const char* path : {"one", "two"}) {
    Residual sublayer =
        residual(path, {{dense(std::string(path) + ".in", 6, 6)}, {ActivationLayer{"act", "tanh"}}},
                 1.0, 0.7);
    sublayer.norm = Norm{std::string(path) + ".norm", NormKind::layernorm, 6, 0.0, false};
    sublayer.trainable_branch = dual.sublayers.empty();
    dual.sublayers.push_back(std::move(sublayer));
  }
  check_gradients(around({{dual}}));
}

TEST_CASE("layers: branches of one input") {
  Attention wide = attention("attn", 6, 2, 1);
  wide.head_width = 5;
  for (Linear* part : {&wide.q, &wide.k, &wide.v}) part->fan_out = part == &wide.q ? 10 : 5;
  wide.o.fan_in = 10;
  const Parallel together{
      "both",
      {{{wide}},
       {{dense("in", 6, 9)}, {ActivationLayer{"act", "tanh"}}, {dense("out", 9, 6)}},
       {{dense("third", 6, 6)}}}};
  check_gradients(around({{residual("block", {{together}})}}));
  Parallel apart = together;
  apart.branches.push_back({{dense("other", 6, 4)}});
  CHECK_THROWS_AS(Passes<double>(around({{apart}}), {}), Error);
}

TEST_CASE("layers: experts that a router chooses") {
  const auto expert = [](const std::string& path) {
    return std::vector<Layer>{
        {dense(path + ".in", 6, 9)}, {ActivationLayer{path + ".act", "tanh"}}, {dense(path, 9, 6)}};
  };
  Experts layer{"experts", dense("router", 6, 4), 2, Experts::Score::softmax, true, {}};
  for (const char* path : {"a", "b", "c", "d"}) layer.experts.push_back(expert(path));
  for (const Experts::Score score : {Experts::Score::softmax, Experts::Score::sigmoid})
    for (const bool normalised : {true, false}) {
      layer.score = score;
      layer.normalised = normalised;
      check_gradients(around({{residual("block", {{layer}})}}));
    }
  Experts apart = layer;
  apart.experts.back() = {{dense("other", 6, 5)}};
  CHECK_THROWS_AS(Passes<double>(around({{apart}}), {}), Error);
  layer.top_k = 5;
  CHECK_THROWS_AS(Passes<double>(around({{layer}}), {}), Error);
}

TEST_CASE("layers: pooling leaves one row for each sequence") {
  const Network network = around({{Pool{"pool"}}, {ActivationLayer{"act", "tanh"}}});
  check_gradients(network);
  Network silent = network;
  std::get<Linear>(silent.layers.back().op).std = 0.0;
  CHECK(Passes<double>(silent, {}).loss() == rounded(2.0 * std::log(3.0), 8));
}

TEST_CASE("layers: a factor for each feature of a branch, and gains of 1 + w") {
  Residual scaled = residual("block", {{dense("block.in", 6, 6)}}, 1.0, 0.3);
  scaled.trainable_branch = true;
  scaled.scale_features = 6;
  Norm norm{"norm", NormKind::layernorm, 6, 0.1, true};
  norm.gain_offset = true;
  const Network network = around({{scaled}, {norm}, {ActivationLayer{"act", "tanh"}}});
  check_gradients(network);
  // The parameter starts at 0 and the gain at 1.
  Network plain = network;
  std::get<Norm>(plain.layers[2].op).gain_offset = false;
  CHECK(Passes<double>(network, {}).loss() == Passes<double>(plain, {}).loss());
  scaled.scale_features = 5;
  CHECK(refusal_of(around({{scaled}})).find("5 factors of 6 features (block)") == 0);
}

TEST_CASE("layers: class tokens and positions, and what a head reads of them") {
  for (const std::int64_t count : {0, 1, 2})
    for (const double positions : {0.0, 0.5})
      for (const Pool::Of of : {Pool::Of::all, Pool::Of::first, Pool::Of::rest}) {
        if (of == Pool::Of::first && count == 0) continue;
        Network network =
            network_of({{dense("patch", 6, 6)},
                        {ClassTokens{"embedding", count, 6, 4 + count, 0.7, positions}},
                        {residual("attn", {{attention("attn", 6, 2, 2)}})},
                        {ActivationLayer{"act", "tanh"}},
                        {Pool{"pool", of, count}}},
                       6, 4);
        network.batch = 2;
        check_gradients(network);
      }
  const auto refused = [](std::int64_t tokens, std::int64_t skipped) {
    return refusal_of(network_of({{ClassTokens{"embedding", 1, 6, tokens, 0.7, 0.0}},
                                  {Pool{"pool", Pool::Of::first, skipped}}},
                                 6, 4));
  };
  CHECK(refused(5, 1) == "no error");
  CHECK(refused(6, 1) ==
        "6 tokens behind 1 class tokens and 4 others (embedding); these must add up");
  CHECK(refused(5, 0).find("0 class tokens of 5 (pool)") == 0);
  CHECK(refused(5, 5).find("5 class tokens of 5 (pool)") == 0);
}

TEST_CASE("layers: convolutions with strides, padding and groups") {
  for (const std::int64_t groups : {1, 2}) {
    for (const std::int64_t stride : {1, 2}) {
      CAPTURE(groups);
      CAPTURE(stride);
      Conv2d layer = conv("conv", 4, 6, 3, 5, 4);
      layer.groups = groups;
      layer.stride = stride;
      layer.padding = stride == 1 ? 1 : 0;
      layer.weight = dense("conv", 9 * 4 / groups, 6);
      layer.weight.bias = true;
      layer.weight.bias_std = 0.4;
      layer.weight.weight_norm = groups == 1 ? WeightNorm::demodulated : WeightNorm::none;
      Network network = network_of({{dense("first", 4, 4)},
                                    {layer},
                                    {Norm{"norm", NormKind::batchnorm, 6, 0.1, false}},
                                    {ActivationLayer{"act", "tanh"}},
                                    {Pool{"pool"}}},
                                   6, 20);
      network.features = 4;
      check_gradients(network);
    }
  }
}

TEST_CASE("layers: positions, and words of Zipf's frequencies") {
  Network network = network_of({{Embedding{"embedding", 5, 6, 1.0, 0.5}}}, 6);
  network.input = InputKind::tokens;
  network.zipf = 1.0;
  check_gradients(network);
}

TEST_CASE("layers: squared errors, as a sum and as a mean") {
  for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
    Network network = around({{ActivationLayer{"act", "tanh"}}});
    network.loss = Loss::mse;
    network.target_second = 2.0;
    network.reduction = reduction;
    check_gradients(network);
  }
}

}  // namespace scalecalc::passes
