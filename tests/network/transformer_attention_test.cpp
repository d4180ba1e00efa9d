#include <doctest/doctest.h>

#include <cmath>

#include "describe.hpp"
#include "small_model.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("grouped heads share their keys and values") {
  ModelSpec spec = small();
  CHECK(attention(build_network(spec), 0).kv_heads == 4);
  spec.kv_heads = 2;
  spec.qk_norm = spec.qk_norm_all = true;
  spec.norm_eps = 1e-5;
  spec.attention_dropout = 0.25;
  const Network network = build_network(spec);
  const Attention& layer = attention(network, 0);
  CHECK(layer.kv_heads == 2);
  CHECK(layer.head_width == 2);
  CHECK(layer.q.fan_out == 8);
  CHECK(layer.k.fan_out == 4);
  CHECK(layer.v.fan_out == 4);
  CHECK(layer.o.fan_in == 8);
  CHECK(layer.qk_norm);
  CHECK(layer.qk_norm_all);
  CHECK(layer.qk_norm_eps == 1e-5);
  CHECK(layer.dropout == 0.25);
}

TEST_CASE("rotary positions are of self-attention, of whole pairs") {
  ModelSpec spec = small();
  CHECK(attention(build_network(spec), 0).rotary.width == 0);
  spec.cross_attention = true;
  spec.rotary_base = 500;
  for (const auto& [head_width, fraction, width] : {std::tuple{8, 1.0, 8},
                                                    {7, 1.0, 6},
                                                    {8, 0.5, 4},
                                                    {8, 0.7, 4},
                                                    {80, 0.4, 32},
                                                    {30, 0.2, 6},
                                                    {7, 0.1, 2}}) {
    spec.head_width = head_width;
    spec.rotary_fraction = fraction;
    const Network network = build_network(spec);
    CHECK(attention(network, 0).rotary.width == width);
    CHECK(attention(network, 0).rotary.base == 500);
    CHECK(attention(network, 1).rotary.width == 0);
  }
}

TEST_CASE("ALiBi is of self-attention, and of the decoder of two stacks") {
  ModelSpec spec = small();
  spec.causal = spec.cross_attention = true;
  spec.alibi = 0.5;
  CHECK(attention(build_network(spec), 0).alibi == 0.5);
  CHECK(attention(build_network(spec), 1).alibi == 0);
  CHECK(encoder_of(spec).alibi == 0);
}

TEST_CASE("relative biases have one table a stack, of self-attention") {
  ModelSpec spec = small();
  spec.relative_buckets = 8;
  spec.relative_distance = 20;
  spec.encoder_decoder = spec.causal = true;
  spec.layers = 3;
  const Network network = build_network(spec);
  std::vector<std::string> tables;
  for (const ParameterInfo& info : parameters(network)) {
    if (!info.path.ends_with(".relative_bias")) continue;
    tables.push_back(info.path);
    CHECK(info.rows == 8);
    CHECK(info.columns == spec.heads);
    CHECK(info.std == doctest::Approx(1 / std::sqrt(8.0)).epsilon(rounding(1)));
  }
  CHECK(tables == std::vector<std::string>{"encoder.block[0].attn.relative_bias",
                                           "block[0].attn.relative_bias"});
  CHECK(attention(build_network(decoder_of(spec)), 0).relative.is_own);
  CHECK(attention(build_network(decoder_of(spec)), 1).relative.buckets == 0);  // over the memory
  CHECK(attention(build_network(decoder_of(spec)), 3).relative.buckets == 8);
  CHECK_FALSE(attention(build_network(decoder_of(spec)), 3).relative.is_own);
}

/// T5Attention._relative_position_bucket of transformers 5.23, 32 buckets up to 128, at offsets
/// -140, -133 .. 140 (tests/network/relative_buckets.py).
TEST_CASE("relative biases have the buckets of transformers") {
  const std::vector<std::int64_t> both = {15, 15, 15, 15, 15, 15, 15, 15, 14, 14, 14, 13, 13, 13,
                                          12, 12, 11, 10, 9,  7,  0,  23, 25, 26, 27, 28, 28, 29,
                                          29, 29, 30, 30, 30, 31, 31, 31, 31, 31, 31, 31, 31};
  const std::vector<std::int64_t> before = {31, 31, 31, 31, 30, 30, 29, 29, 28, 28, 27, 26, 25, 24,
                                            23, 22, 20, 18, 14, 7,  0,  0,  0,  0,  0,  0,  0,  0,
                                            0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0};
  const RelativeBias bias{32, 128};
  for (std::size_t i = 0; i < both.size(); ++i) {
    const std::int64_t offset = 7 * static_cast<std::int64_t>(i) - 140;
    CAPTURE(offset);
    CHECK(relative_bucket(bias, false, offset) == both[i]);
    CHECK(relative_bucket(bias, true, offset) == before[i]);
  }
}

TEST_CASE("windows are of the blocks that the pattern says") {
  ModelSpec spec = small();
  spec.causal = true;
  spec.layers = 5;
  spec.window = 2;
  for (const char* pattern : {"L", "LG", "GL", "LLG"}) {
    spec.window_pattern = pattern;
    const std::string letters = pattern;
    const Network network = build_network(spec);
    for (std::size_t block = 0; block < 5; ++block)
      CHECK(attention(network, 2 * block).window ==
            (letters[block % letters.size()] == 'L' ? 2 : 0));
  }
  spec.cross_attention = true;
  CHECK(attention(build_network(spec), 1).window == 0);
  CHECK(encoder_of(spec).window == 0);
}

TEST_CASE("heads of a width of their own do not share out the model's") {
  ModelSpec spec = small();
  spec.heads = 3;
  spec.head_width = 5;
  spec.kv_heads = 1;
  spec.placement = Placement::sub_ln;
  spec.init.scheme = "xavier";
  const Network network = build_network(spec);
  const Attention& layer = attention(network, 0);
  CHECK(layer.head_width == 5);
  CHECK(layer.scale == rounded(1 / std::sqrt(5.0), 4));
  CHECK(layer.q.fan_in == 8);
  CHECK(layer.q.fan_out == 15);
  CHECK(layer.k.fan_out == 5);
  CHECK(layer.o.fan_in == 15);
  CHECK(layer.o.fan_out == 8);
  CHECK(layer.norm->width == 15);
  CHECK(layer.o.std == rounded(std::sqrt(2.0 / 23), 4));
  CHECK(layer.o.variance_formula.value() == parse("2*lambda^2/(width + heads*head_width)"));
  // What the width gives by itself is laid out as before.
  spec.heads = spec.kv_heads = 2;
  spec.head_width = 4;
  const std::string given = description(build_network(spec));
  spec.head_width = 0;
  CHECK(description(build_network(spec)) == given);
}

TEST_CASE("residual attention is between tokens of the stream") {
  ModelSpec spec = small();
  spec.residual_attention = spec.cross_attention = true;
  const Network network = build_network(spec);
  CHECK(attention(network, 0).residual_attention);
  CHECK_FALSE(attention(network, 1).residual_attention);
  CHECK(attention(network, 1).over_memory);
}

TEST_CASE("self-attention behind the first block reads the values of the first") {
  ModelSpec spec = small();
  spec.layers = 3;
  spec.value_residual = 0.25;
  spec.cross_attention = true;
  const Network network = build_network(spec);
  for (const std::size_t block : {0U, 1U, 2U}) {
    const Attention& own = attention(network, 3 * block);
    CHECK(own.gives_values == (block == 0));
    CHECK(own.value_residual == (block == 0 ? 0 : 0.25));
    const Attention& cross = attention(network, 3 * block + 1);
    CHECK_FALSE(cross.gives_values);
    CHECK(cross.value_residual == 0);
  }
  spec.value_residual = 0;
  CHECK_FALSE(attention(build_network(spec), 0).gives_values);
}

TEST_CASE("cross-attention is a third branch that reads the memory") {
  ModelSpec spec = small();
  spec.causal = true;
  spec.cross_attention = true;
  spec.memory = {7, 2.0, 0.5};
  spec.init.scheme = "gpt2";
  const Network network = build_network(spec);
  REQUIRE(network.layers.size() == 5);
  CHECK(residual(network, 1).path == "block[0].cross");
  CHECK(attention(network, 1).over_memory);
  CHECK_FALSE(attention(network, 1).causal);
  CHECK_FALSE(attention(network, 0).over_memory);
  CHECK(attention(network, 0).causal);
  CHECK(network.memory_sequence == 7);
  CHECK(network.memory_second == 2.0);
  CHECK(network.memory_cross == 0.5);
  // Three branches a layer, so 0.02/sqrt(3).
  CHECK(attention(network, 1).o.std == doctest::Approx(0.02 / std::sqrt(3.0)).epsilon(1e-14));
  spec.cross_attention = false;
  CHECK(build_network(spec).memory_sequence == 0);
}

TEST_CASE("two stacks: an encoder makes the memory, and the decoder has scales of its own") {
  ModelSpec spec = small();
  spec.encoder_decoder = spec.causal = true;
  spec.layers = 3;
  spec.decoder_layers = parse("N/2");
  spec.placement = Placement::post;
  spec.alpha = parse("N*M");
  spec.decoder_alpha = parse("M/8 + N");
  spec.decoder_lambda = parse("2*lambda");
  spec.memory.sequence = 7;
  spec.init.scheme = "gpt2";
  const Network network = build_network(spec);
  const auto& encoder = std::get<Encoder>(network.layers.at(0).op);
  // The norm of the input and two sums a block; then three of the decoder's and the head.
  REQUIRE(encoder.layers.size() == 7);
  REQUIRE(network.layers.size() == 9);
  CHECK(network.memory_sequence == 7);
  const auto of = [](const Residual& sum) { return std::get<Attention>(sum.body[0].op); };
  const auto& first = std::get<Residual>(encoder.layers[1].op);
  CHECK(first.path == "encoder.block[0].attn");
  CHECK(first.skip == 6);
  CHECK_FALSE(of(first).causal);
  CHECK(residual(network, 2).path == "block[0].attn");
  CHECK(residual(network, 2).skip == 3.25);
  CHECK(of(residual(network, 2)).causal);
  CHECK(of(residual(network, 3)).over_memory);
  // N of a scheme is the depth of the stack.
  CHECK(of(first).o.std == doctest::Approx(0.02 / std::sqrt(6.0)).epsilon(1e-14));
  CHECK(of(residual(network, 3)).o.std ==
        doctest::Approx(2 * 0.02 / std::sqrt(6.0)).epsilon(1e-14));
  const std::string paths = parameter_paths(network);
  CHECK(paths.find("encoder.block[2].ffn.out.weight\nblock[0].attn.q.weight") != std::string::npos);
}

TEST_CASE("the stacks of two are models of one each") {
  ModelSpec spec = small();
  spec.encoder_decoder = spec.causal = true;
  spec.layers = 18;
  spec.decoder_layers = 6;
  spec.alpha = parse("(N^4*M)^(1/16)");
  const ModelSpec encoder = encoder_of(spec), decoder = decoder_of(spec);
  CHECK(*encoder.alpha == parse("(6*N^4)^(1/16)"));
  CHECK_FALSE(encoder.cross_attention);
  CHECK_FALSE(encoder.causal);
  CHECK(decoder.cross_attention);
  CHECK(decoder.layers == 6);
  // Left out, the decoder has the encoder's scale, a number.
  CHECK(*decoder.alpha == parse("(6*18^4)^(1/16)"));
  spec.decoder_alpha = parse("(3*M)^(1/4)");
  CHECK(*decoder_of(spec).alpha == parse("(3*N)^(1/4)"));
  spec.alpha.reset();
  spec.decoder_alpha = Expr::symbol("alpha");
  CHECK_FALSE(decoder_of(spec).alpha.has_value());
  CHECK_NOTHROW(validate(spec));
}
