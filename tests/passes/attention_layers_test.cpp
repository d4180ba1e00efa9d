#include "gradient_check.hpp"
#include "layer_networks.hpp"
#include "tolerance.hpp"

/// Attention inside a small network, its parameters' gradients against differences.
namespace scalecalc::passes {

using namespace testing;

TEST_CASE("layers: attention with grouped heads, qk-norm, dropout and a mask") {
  for (const bool causal : {false, true}) {
    for (const std::int64_t kv_heads : {1, 2, 4}) {
      CAPTURE(kv_heads);
      Attention layer = attention("attn", 8, 4, kv_heads);
      layer.causal = causal;
      layer.dropout = kv_heads == 2 ? 0.3 : 0.0;
      layer.qk_norm = kv_heads != 4;
      layer.qk_norm_all = kv_heads == 2;
      layer.qk_norm_eps = causal ? 0.5 : 0;
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
    layer.rotary.theta.assign(static_cast<std::size_t>(width / 2), 0.25);
    layer.rotary.attention = 1.5;
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

TEST_CASE("layers: relative biases with grouped heads, qk-norm and dropout, shared by two layers") {
  for (const bool causal : {false, true}) {
    Attention layer = attention("attn", 8, 2, 1), next = attention("next", 8, 2, 2);
    layer.causal = next.causal = causal;
    layer.relative = {4, 3, 0.5, true};
    next.relative = {4, 3, 0.5, false};
    next.qk_norm = causal;
    if (causal) layer.dropout = 0.25;
    check_gradients(around({{layer}, {next}}, 8));
  }
}

TEST_CASE("layers: relative biases where they have no table or no meaning") {
  const auto refused = [](const auto& change) {
    Attention layer = attention("attn", 8, 2, 2);
    layer.relative = {4, 3, 0.5, true};
    change(layer);
    return refusal_of(around({{layer}}, 8));
  };
  CHECK(refused([](Attention&) {}) == "no error");
  const std::string none =
      "relative biases are of attention to tokens (attn); leave out the memory, rotary positions, "
      "alibi, windows and residual_attention";
  CHECK(refused([](Attention& layer) { layer.rotary = {4, 10.0}; }) == none);
  CHECK(refused([](Attention& layer) { layer.residual_attention = true; }) == none);
  CHECK(refused([](Attention& layer) { layer.relative.is_own = false; }) ==
        "no attention before has a table of such relative biases (attn); let one have its own, of "
        "the same heads, buckets, mask and tokens");
  CHECK(refused([](Attention& layer) { layer.relative.buckets = 2; }) ==
        "relative biases of 2 buckets (attn); use an even number, 4 at least");
  CHECK(refused([](Attention& layer) { layer.relative.distance = 2; }) ==
        "relative biases of 4 buckets up to a distance of 2 (attn); use a distance above half of "
        "the buckets");
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
  CHECK(refused({4, 10.0, {1, 0.5}, 1.5}, false) == "no error");
  CHECK(refused({4, 10.0, {1}}, false) ==
        "rotary positions of 2 pairs have 1 angles (attn); use one of each pair, or none");
  for (const double wrong : {-1.0, 1.0 / 0.0}) {
    CHECK(refused({4, 10.0, {1, wrong}}, false).starts_with("a rotary angle"));
    CHECK(
        refused({4, 10.0, {}, wrong}, false).starts_with("rotary positions multiply features by"));
  }
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

TEST_CASE("layers: values of the first attention in those behind it") {
  for (const bool causal : {false, true}) {
    std::vector<Layer> layers;
    for (const char* path : {"one", "two", "three"}) {
      Attention layer = attention(path, 8, 4, 2);
      layer.causal = causal;
      layer.gives_values = layers.empty();
      layer.value_residual = layers.empty() ? 0 : 0.375;
      layers.push_back({residual(path, {{layer}})});
    }
    check_gradients(around(layers, 8));
  }
}

TEST_CASE("layers: values that are added have one shape") {
  const auto refused = [](const Attention& second, bool gives, bool pooled) {
    Attention first = attention("one", 8, 4, 2);
    first.gives_values = gives;
    std::vector<Layer> layers = {{first}};
    if (pooled) layers.push_back({Pool{"pool"}});
    layers.push_back({second});
    return refusal_of(around(layers, 8));
  };
  Attention other = attention("two", 8, 4, 2);
  other.value_residual = 0.5;
  CHECK(refused(other, true, false) == "no error");
  CHECK(refused(other, false, false) ==
        "no attention before gives its values (two); let one of as many heads and tokens give "
        "them");
  CHECK(refused(other, true, true) ==
        "value_residual adds values of 4 features and 4 tokens to those of 4 and 1 (two); let one "
        "of as many heads and tokens give them");
  other.value_residual = 1;
  CHECK(refused(other, true, false) ==
        "the share of the first values is 1 (two); use at least 0 and less than 1");
  other.value_residual = 0.5;
  other.over_memory = true;
  CHECK(refused(other, true, false) ==
        "value_residual over a memory (two); leave one of the two out");
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

}  // namespace scalecalc::passes
