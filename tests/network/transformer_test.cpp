#include <doctest/doctest.h>

#include <cmath>

#include "describe.hpp"
#include "scalecalc/network.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

ModelSpec small() {
  ModelSpec spec;
  spec.layers = 1;
  spec.width = 8;
  spec.heads = 4;
  spec.ffn = 12;
  spec.vocab = 5;
  spec.placement = Placement::pre;
  return spec;
}

const Residual& residual(const Network& network, std::size_t index) {
  return std::get<Residual>(network.layers[index].op);
}
const Attention& attention(const Network& network, std::size_t index) {
  return std::get<Attention>(residual(network, index).body[1].op);
}

}  // namespace

TEST_CASE("a gated ffn has a gate beside its input, and the product as its activation") {
  ModelSpec spec = small();
  spec.gated = true;
  spec.activation = "silu";
  spec.lambda = parse("1/2");
  const Network network = build_network(spec);
  const std::string text = description(network);
  CHECK(text.find("linear block[0].ffn.gate\nlinear block[0].ffn.in\ngated block[0].ffn.act\n"
                  "linear block[0].ffn.out\n") != std::string::npos);
  CHECK(parameter_paths(network).find("block[0].ffn.gate.weight\nblock[0].ffn.in.weight\n"
                                      "block[0].ffn.out.weight\n") != std::string::npos);
  const auto& gated = std::get<Gated>(residual(network, 1).body[1].op);
  CHECK(gated.function == "silu");
  CHECK(gated.gate.role == "ffn_gate");
  CHECK(gated.gate.fan_out == 12);
  // Two factors of lambda a branch, whatever the gate.
  CHECK(gated.gate.gain == 1);
  CHECK(gated.in.gain == 0.5);
  spec.init.gain["ffn_gate"] = parse("lambda^2");
  CHECK(std::get<Gated>(residual(build_network(spec), 1).body[1].op).gate.gain == 0.25);
}

TEST_CASE("grouped heads share their keys and values") {
  ModelSpec spec = small();
  CHECK(attention(build_network(spec), 0).kv_heads == 4);
  spec.kv_heads = 2;
  spec.qk_norm = true;
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

TEST_CASE("patches go through a map, behind class tokens, and the head reads one") {
  ModelSpec spec = small();
  spec.sequence = 10;
  spec.input.patch = 12;
  spec.input.positions = 0.25;
  spec.input.class_std = 0.5;
  spec.class_tokens = 2;
  spec.pool = Pooling::class_token;
  const Network network = build_network(spec);
  CHECK(network.features == 12);
  CHECK(network.sequence == 8);
  const auto& tokens = std::get<ClassTokens>(network.layers[1].op);
  CHECK(tokens.tokens == 10);
  CHECK(tokens.position_std == 0.5);
  CHECK(parameter_paths(network).starts_with(
      "patch.weight\nembedding.class\nembedding.position\nblock[0]"));
  CHECK(std::get<Linear>(network.layers[0].op).variance_formula == parse("1/patch"));
  const auto pool = [&] { return std::get<Pool>(build_network(spec).layers.rbegin()[1].op); };
  CHECK(pool().of == Pool::Of::first);
  spec.pool = Pooling::mean;
  CHECK(pool().of == Pool::Of::rest);
  CHECK(pool().class_tokens == 2);
  spec.bias = true;
  CHECK(parameter_paths(build_network(spec)).starts_with("patch.weight\npatch.bias\n"));
  spec.patch_bias = false;
  CHECK(parameter_paths(build_network(spec)).starts_with("patch.weight\nembedding.class\n"));
  spec.class_tokens = spec.input.patch = 0;
  spec.input.class_std = 0;
  CHECK(parameter_paths(build_network(spec)).starts_with("embedding.position\nblock[0]"));
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

TEST_CASE("a parallel block is one sum of all branches, behind one norm") {
  ModelSpec spec = small();
  spec.parallel = true;
  spec.dropout = 0.1;
  spec.dropout_place = {.branch = true, .stream = true};
  CHECK(description(build_network(spec)) ==
        "( block[0]\nnorm block[0].norm\nparallel( block[0].branches\n"
        "linear block[0].attn.q\nlinear block[0].attn.k\nlinear block[0].attn.v\n"
        "mix block[0].attn\nlinear block[0].attn.o\ndropout block[0].attn.dropout\n+\n"
        "linear block[0].ffn.in\nact block[0].ffn.act\nlinear block[0].ffn.out\n"
        "dropout block[0].ffn.dropout\n)\n)\ndropout block[0].stream_dropout\n"
        "norm final_norm\nlinear head\n");
  spec.dropout = 0;
  spec.dropout_place = {};
  spec.cross_attention = true;
  spec.placement = Placement::sandwich;
  const std::string three = description(build_network(spec));
  CHECK(three.starts_with("( block[0]\nnorm block[0].norm\nparallel( block[0].branches\n"));
  CHECK(three.find("linear block[0].attn.o\n+\nlinear block[0].cross.q") != std::string::npos);
  CHECK(three.find("linear block[0].cross.o\n+\nlinear block[0].ffn.in") != std::string::npos);
  CHECK(three.find("linear block[0].ffn.out\n)\nnorm block[0].out_norm\n)\n") != std::string::npos);
  spec.placement = Placement::post;
  CHECK(description(build_network(spec))
            .find("linear block[0].ffn.out\n)\n)\nnorm block[0].norm\n") != std::string::npos);
  spec.placement = Placement::resi_dual;
  spec.layers = 2;
  CHECK(std::get<DualStream>(build_network(spec).layers[0].op).sublayers.size() == 2);
}

TEST_CASE("branches of a parallel block have norms of their own when the model asks") {
  ModelSpec spec = small();
  spec.parallel = spec.branch_norms = true;
  CHECK(description(build_network(spec)) ==
        "( block[0]\nparallel( block[0].branches\nnorm block[0].attn.norm\n"
        "linear block[0].attn.q\nlinear block[0].attn.k\nlinear block[0].attn.v\n"
        "mix block[0].attn\nlinear block[0].attn.o\n+\nnorm block[0].ffn.norm\n"
        "linear block[0].ffn.in\nact block[0].ffn.act\nlinear block[0].ffn.out\n)\n)\n"
        "norm final_norm\nlinear head\n");
  spec.norm_affine = true;
  CHECK(parameter_paths(build_network(spec)).find("block[0].ffn.norm.gain") != std::string::npos);
  // gpt2 divides by the number of branches, which are two a block however they are added.
  spec.init.scheme = "gpt2";
  const Network network = build_network(spec);
  const auto& sum = std::get<Parallel>(residual(network, 0).body[0].op);
  CHECK(std::get<Attention>(sum.branches[0][1].op).o.std == rounded(0.02 / std::sqrt(2.0), 4));
}

TEST_CASE("experts stand in the place of the ffn, and a shared one beside them") {
  ModelSpec spec = small();
  spec.experts = 2;
  spec.top_k = 1;
  spec.expert_ffn = 6;
  const std::string expert =
      "linear block[0].ffn.expert[0].in\nact block[0].ffn.expert[0].act\n"
      "linear block[0].ffn.expert[0].out\n";
  std::string text = description(build_network(spec));
  CHECK(text.find("experts( block[0].ffn.experts linear block[0].ffn.router\n" + expert + "+\n") !=
        std::string::npos);
  const auto& plain = std::get<Experts>(residual(build_network(spec), 1).body.back().op);
  CHECK(plain.router.role == "router");
  CHECK(plain.router.fan_out == 2);
  CHECK_FALSE(plain.router.bias);
  CHECK(std::get<Linear>(plain.experts[1][0].op).fan_out == 6);
  spec.bias = true;
  spec.shared_ffn = 5;
  spec.shared_gate = true;
  const Network both = build_network(spec);
  const auto& sum = std::get<Parallel>(residual(both, 1).body.back().op);
  CHECK_FALSE(std::get<Experts>(sum.branches[0][0].op).router.bias);
  const auto& shared = std::get<Experts>(sum.branches[1][0].op);
  CHECK(shared.score == Experts::Score::sigmoid);
  CHECK(shared.router.fan_out == 1);
  CHECK(std::get<Linear>(shared.experts[0][0].op).fan_out == 5);
}

TEST_CASE("residual attention is between tokens of the stream") {
  ModelSpec spec = small();
  spec.residual_attention = spec.cross_attention = true;
  const Network network = build_network(spec);
  CHECK(attention(network, 0).residual_attention);
  CHECK_FALSE(attention(network, 1).residual_attention);
  CHECK(attention(network, 1).over_memory);
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

TEST_CASE("dropout ends each branch, before a norm that ends it too") {
  ModelSpec spec = small();
  spec.dropout = 0.1;
  CHECK(description(build_network(spec))
            .find("linear block[0].ffn.out\n"
                  "dropout block[0].ffn.dropout\n)\n") != std::string::npos);
  spec.placement = Placement::res_post;
  CHECK(description(build_network(spec))
            .find("dropout block[0].ffn.dropout\n"
                  "norm block[0].ffn.norm\n)\n") != std::string::npos);
}

TEST_CASE("dropout stands where the model says") {
  ModelSpec spec = small();
  spec.placement = Placement::sub_ln;
  spec.input.kind = InputKind::tokens;
  const std::string none = description(build_network(spec));
  spec.dropout_place = {true, true, true, true};
  CHECK(description(build_network(spec)) == none);
  spec.dropout = 0.1;
  CHECK(description(build_network(spec)) ==
        "embedding embedding\ndropout input.dropout\n( block[0].attn\nnorm block[0].attn.norm\n"
        "linear block[0].attn.q\nlinear block[0].attn.k\nlinear block[0].attn.v\n"
        "mix block[0].attn\nnorm block[0].attn.mix_norm\nlinear block[0].attn.o\n"
        "dropout block[0].attn.dropout\n)\ndropout block[0].attn.stream_dropout\n"
        "( block[0].ffn\nnorm block[0].ffn.norm\nlinear block[0].ffn.in\nact block[0].ffn.act\n"
        "dropout block[0].ffn.act_dropout\nnorm block[0].ffn.act_norm\n"
        "linear block[0].ffn.out\ndropout block[0].ffn.dropout\n)\n"
        "dropout block[0].ffn.stream_dropout\nnorm final_norm\nlinear head\n");
  spec.gated = true;
  spec.placement = Placement::post;
  spec.dropout_place = {.input = true, .branch = false, .activation = true, .stream = true};
  CHECK(description(build_network(spec))
            .starts_with("embedding embedding\nnorm input.norm\ndropout input.dropout\n"));
  CHECK(
      description(build_network(spec))
          .ends_with("gated block[0].ffn.act\ndropout block[0].ffn.act_dropout\nlinear "
                     "block[0].ffn.out\n)\n"
                     "norm block[0].ffn.norm\ndropout block[0].ffn.stream_dropout\nlinear head\n"));
  spec.dropout_place = {.input = true, .branch = false};
  const std::string at_input = description(build_network(spec));
  CHECK(at_input.find("\ndropout ") == at_input.rfind("\ndropout "));
}

TEST_CASE("tokens have positions and frequencies when the model asks") {
  ModelSpec spec = small();
  spec.sequence = 6;
  spec.input.kind = InputKind::tokens;
  CHECK(parameter_paths(build_network(spec)).starts_with("embedding.weight\nblock[0]"));
  spec.input.positions = 0.25;
  spec.input.zipf = 1.5;
  const Network network = build_network(spec);
  CHECK(network.zipf == 1.5);
  const std::vector<ParameterInfo> infos = parameters(network);
  CHECK(infos[1].path == "embedding.position");
  CHECK(infos[1].rows == 6);
  CHECK(infos[1].columns == 8);
  CHECK(infos[1].std == 0.5);
  CHECK(infos[1].is_matrix);
  spec.input.segments = 3;
  spec.input.multiplier = 4;
  const Network more = build_network(spec);
  CHECK(
      parameter_paths(more).starts_with("embedding.weight\nembedding.position\nembedding.segment"));
  CHECK(parameters(more)[2].rows == 3);
  CHECK(parameters(more)[2].std == parameters(more)[0].std);
  CHECK(std::get<Embedding>(more.layers.front().op).multiplier == 4);
  spec.placement = Placement::pre;
  CHECK(parameter_paths(build_network(spec)).find("input.norm") == std::string::npos);
  spec.input.norm = spec.norm_affine = true;
  CHECK(parameter_paths(build_network(spec)).find("\ninput.norm.gain\n") != std::string::npos);
}

TEST_CASE("a tied head has the embedding's matrix, and a gain that multiplies the logits") {
  ModelSpec spec = small();
  spec.input.kind = InputKind::tokens;
  spec.input.second = 0.25;
  const std::int64_t untied = parameter_count(build_network(spec));
  spec.tie_head = true;
  spec.init.gain["head"] = parse("1/2");
  const Network network = build_network(spec);
  CHECK(parameter_count(network) == untied - spec.width * spec.vocab);
  CHECK(parameter_paths(network).find("head") == std::string::npos);
  const auto& head = std::get<Linear>(network.layers.back().op);
  CHECK(head.tied);
  CHECK(head.std == 0.5);
  CHECK(head.multiplier == 0.5);
  spec.head_bias = true;
  CHECK(parameter_paths(build_network(spec)).ends_with("head.bias\n"));
}

TEST_CASE("biases are where the model says, the narrower word first") {
  ModelSpec spec = small();
  const auto biases = [&] {
    std::string text;
    for (const ParameterInfo& info : parameters(build_network(spec)))
      if (info.path.ends_with(".bias")) text += info.role + " ";
    return text;
  };
  CHECK(biases().empty());
  spec.qkv_bias = true;
  CHECK(biases() == "q k v ");
  spec.attention_bias = true;
  spec.qkv_bias.reset();
  CHECK(biases() == "q k v o ");
  spec.bias = true;
  spec.attention_bias = false;
  CHECK(biases() == "ffn_in ffn_out ");
  spec.head_bias = true;
  spec.ffn_bias = false;
  CHECK(biases() == "head ");
}

TEST_CASE("a head's transform is a map, the activation and a norm in front of it") {
  ModelSpec spec = small();
  spec.head_transform = true;
  const std::string text = description(build_network(spec));
  CHECK(text.find("linear transform\nact transform.act\nnorm transform.norm\nlinear head") !=
        std::string::npos);
}

TEST_CASE("loss and batch reach the network") {
  ModelSpec spec = small();
  spec.loss = Loss::mse;
  spec.target_second = 0.5;
  spec.reduction = Reduction::mean;
  const Network network = build_network(spec);
  CHECK(network.loss == Loss::mse);
  CHECK(network.target_second == 0.5);
  CHECK(network.reduction == Reduction::mean);
}
