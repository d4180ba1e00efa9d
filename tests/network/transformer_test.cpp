#include <doctest/doctest.h>

#include <cmath>

#include "describe.hpp"
#include "small_model.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

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

TEST_CASE("a head may read the last token, and have classes that are not the words") {
  ModelSpec spec = small();
  spec.causal = true;
  spec.input.kind = InputKind::tokens;
  spec.vocab = 100;
  spec.pool = Pooling::last_token;
  spec.head_classes = 7;
  const Network network = build_network(spec);
  CHECK(std::get<Pool>(network.layers.rbegin()[1].op).of == Pool::Of::last);
  CHECK(std::get<Embedding>(network.layers[0].op).vocab == 100);
  CHECK(std::get<Linear>(network.layers.back().op).fan_out == 7);
  CHECK(network.classes == 7);
  spec.init.scheme = "xavier";
  CHECK(std::get<Linear>(build_network(spec).layers.back().op).variance_formula ==
        parse("2/(width + head_classes)"));
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
  const Experts plain = std::get<Experts>(residual(build_network(spec), 1).body.back().op);
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

TEST_CASE("a narrow embedding has its norm, and a map behind it; a transform maps back") {
  ModelSpec spec = small();
  spec.input.kind = InputKind::tokens;
  spec.input.segments = 2;
  spec.input.positions = 0.25;
  spec.input.embedding_width = 4;
  spec.input.norm = spec.norm_affine = true;
  spec.tie_head = spec.head_transform = true;
  const Network network = build_network(spec);
  CHECK(parameter_paths(network).starts_with(
      "embedding.weight\nembedding.position\nembedding.segment\ninput.norm.gain\n"
      "input.norm.shift\nembedding.map.weight\nblock[0]"));
  for (const ParameterInfo& info : parameters(network))
    if (info.path.starts_with("embedding.") && info.path != "embedding.map.weight")
      CHECK(info.columns == 4);
  const auto& map = std::get<Linear>(network.layers[2].op);
  CHECK(map.fan_in == 4);
  CHECK(map.fan_out == spec.width);
  CHECK(map.variance_formula == parse("1/embedding_width"));
  CHECK(std::get<Linear>(network.layers.rbegin()[3].op).fan_out == 4);
  CHECK(std::get<Norm>(network.layers.rbegin()[1].op).width == 4);
  CHECK(std::get<Linear>(network.layers.back().op).fan_in == 4);
  spec.tie_head = spec.head_transform = false;
  CHECK(std::get<Linear>(build_network(spec).layers.back().op).fan_in == spec.width);
}

TEST_CASE("an encoder reads frames through convolutions, and sinusoids are added") {
  ModelSpec spec = small();
  spec.encoder_decoder = true;
  spec.input.kind = InputKind::tokens;
  spec.memory.sequence = 5;
  spec.memory.features = 3;
  spec.memory.conv_kernel = 5;
  spec.memory.conv_strides = "1 2 3";
  spec.memory.sinusoids = spec.bias = true;
  const Network network = build_network(spec);
  CHECK(network.memory_sequence == 30);
  CHECK(network.memory_features == 3);
  const auto& encoder = std::get<Encoder>(network.layers[1].op);
  Network inside = network;
  inside.layers = encoder.layers;
  CHECK(description(inside).starts_with(
      "conv encoder.conv[0]\nact encoder.conv[0].act\nconv encoder.conv[1]\n"
      "act encoder.conv[1].act\nconv encoder.conv[2]\nact encoder.conv[2].act\n"
      "class tokens encoder.embedding\n( encoder.block[0].attn\n"));
  const auto& last = std::get<Conv2d>(encoder.layers[4].op);
  CHECK(last.one_row);
  CHECK(last.width == 15);
  CHECK(last.out_width() == 5);
  CHECK(last.weight.fan_in == 5 * spec.width);
  CHECK(last.weight.bias);
  const auto& table = std::get<ClassTokens>(encoder.layers[6].op);
  CHECK(table.sinusoids);
  CHECK(table.tokens == 5);
  spec.memory.sinusoids = false;
  spec.memory.features = 0;
  spec.memory.conv_kernel = 3;
  spec.memory.conv_strides = "1 2";
  CHECK(build_network(spec).memory_sequence == 5);
}

TEST_CASE("keys alone may have no biases") {
  ModelSpec spec = small();
  spec.bias = true;
  spec.k_bias = false;
  const std::string paths = parameter_paths(build_network(spec));
  CHECK(paths.find("attn.q.bias") != std::string::npos);
  CHECK(paths.find("attn.v.bias") != std::string::npos);
  CHECK(paths.find("attn.k.bias") == std::string::npos);
}
