#include <doctest/doctest.h>

#include <cmath>
#include <ctime>
#include <functional>

#include "describe.hpp"
#include "scalecalc/network.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

ModelSpec small(Placement placement, ModelSpec::Kind kind = ModelSpec::Kind::transformer) {
  ModelSpec spec = default_spec(kind);
  spec.layers = 2;
  spec.width = 8;
  spec.heads = 2;
  spec.ffn = 12;
  spec.vocab = 5;
  spec.features = 3;
  spec.placement = placement;
  if (placement != Placement::none) spec.norm = NormKind::layernorm;
  return spec;
}

const Residual& residual(const Network& network, const std::string& path) {
  for (const Layer& layer : network.layers)
    if (const auto* found = std::get_if<Residual>(&layer.op))
      if (found->path == path) return *found;
  FAIL("no residual " << path);
  throw 0;
}

std::string attention_lines(const std::string& block, const std::string& inner = "") {
  return "linear " + block + ".attn.q\nlinear " + block + ".attn.k\nlinear " + block +
         ".attn.v\nmix " + block + ".attn\n" + inner + "linear " + block + ".attn.o\n";
}

std::string ffn_lines(const std::string& block, const std::string& inner = "") {
  return "linear " + block + ".ffn.in\nact " + block + ".ffn.act\n" + inner + "linear " + block +
         ".ffn.out\n";
}

/// The blocks of a stack whose sublayers have these norms before, inside, at the end and after.
std::string blocks(bool before, bool inside, const std::string& end, bool after) {
  std::string text;
  for (const std::string block : {"block[0]", "block[1]"}) {
    for (const std::string part : {".attn", ".ffn"}) {
      text += "( " + block + part + "\n";
      if (before) text += "norm " + block + part + ".norm\n";
      if (part == ".attn")
        text += attention_lines(block, inside ? "norm " + block + ".attn.mix_norm\n" : "");
      else
        text += ffn_lines(block, inside ? "norm " + block + ".ffn.act_norm\n" : "");
      if (!end.empty()) text += "norm " + block + part + end + "\n";
      text += ")\n";
      if (after) text += "norm " + block + part + ".norm\n";
    }
  }
  return text;
}

}  // namespace

TEST_CASE("each placement puts its norms where it says") {
  const std::string end = "norm final_norm\nlinear head\n";
  CHECK(description(build_network(small(Placement::post))) ==
        "norm input.norm\n" + blocks(false, false, "", true) + "linear head\n");
  CHECK(description(build_network(small(Placement::pre))) == blocks(true, false, "", false) + end);
  CHECK(description(build_network(small(Placement::res_post))) ==
        blocks(false, false, ".norm", false) + end);
  CHECK(description(build_network(small(Placement::sandwich))) ==
        blocks(true, false, ".out_norm", false) + end);
  CHECK(description(build_network(small(Placement::sub_ln))) ==
        blocks(true, true, "", false) + end);
  CHECK(description(build_network(small(Placement::none))) ==
        blocks(false, false, "", false) + "linear head\n");
}

TEST_CASE("alpha goes to the skip, or as 1/alpha to a normalised branch") {
  struct Case {
    Placement placement;
    double skip, branch;
  };
  for (const Case& expected :
       {Case{Placement::post, 4, 1}, Case{Placement::pre, 4, 1}, Case{Placement::res_post, 1, 0.25},
        Case{Placement::sandwich, 1, 0.25}, Case{Placement::none, 4, 1}}) {
    ModelSpec spec = small(expected.placement);
    spec.alpha = parse("2*N");
    const Network network = build_network(spec);
    for (const std::string path : {"block[0].attn", "block[1].ffn"}) {
      CAPTURE(to_string(expected.placement));
      CHECK(residual(network, path).skip == expected.skip);
      CHECK(residual(network, path).branch == expected.branch);
    }
  }
  ModelSpec spec = small(Placement::sub_ln);
  CHECK(residual(build_network(spec), "block[0].attn").skip == 1);
  CHECK(residual(build_network(spec), "block[0].attn").branch == 1);
}

TEST_CASE("formulas are evaluated at the depth of the spec") {
  ModelSpec spec = small(Placement::post);
  spec.layers = 8;
  spec.alpha = parse("(2*N)^(1/4)");
  spec.lambda = parse("(2*N)^(-1/4)");
  const Network network = build_network(spec);
  const Residual& first = residual(network, "block[7].attn");
  CHECK(first.skip == rounded(2.0, 8));
  const Attention& attention = std::get<Attention>(first.body[0].op);
  CHECK(attention.q.gain == 1);
  CHECK(attention.k.gain == 1);
  CHECK(attention.v.gain == rounded(0.5, 8));
  CHECK(attention.o.gain == rounded(0.5, 8));
  CHECK(attention.v.std == rounded(0.5 / std::sqrt(8.0), 8));
  CHECK(attention.heads == 2);
  CHECK(attention.head_width == 4);
  CHECK(attention.scale == 0.5);
  const Linear& head = std::get<Linear>(network.layers.back().op);
  CHECK(head.gain == 1);
  CHECK(head.role == "head");
  CHECK_FALSE(head.in_branch);
}

TEST_CASE("gains multiply the scheme, and may be set by role") {
  ModelSpec spec = small(Placement::pre);
  spec.lambda = parse("1/4");
  spec.init.scheme = "std";
  spec.init.std = 0.5;
  spec.init.gain["q"] = parse("lambda*N");
  spec.init.gain["head"] = parse("0");
  for (const ParameterInfo& info : parameters(build_network(spec))) {
    CAPTURE(info.path);
    if (info.role == "q") CHECK(info.std == 0.25);
    if (info.role == "k") CHECK(info.std == 0.5);
    if (info.role == "v") CHECK(info.std == 0.125);
    if (info.role == "head") CHECK(info.std == 0);
  }
}

TEST_CASE("an mlp is a plain stack, or residual branches after its first layer") {
  ModelSpec plain = small(Placement::none, ModelSpec::Kind::mlp);
  CHECK(description(build_network(plain)) ==
        "linear layer[0].linear\nact layer[0].act\nlinear layer[1].linear\nact layer[1].act\n"
        "linear head\n");
  plain.norm = NormKind::rmsnorm;
  CHECK(description(build_network(plain)) ==
        "linear layer[0].linear\nnorm layer[0].norm\nact layer[0].act\n"
        "linear layer[1].linear\nnorm layer[1].norm\nact layer[1].act\nlinear head\n");

  const ModelSpec pre = small(Placement::pre, ModelSpec::Kind::mlp);
  CHECK(description(build_network(pre)) ==
        "linear layer[0].linear\nact layer[0].act\n"
        "( layer[1]\nnorm layer[1].norm\nlinear layer[1].linear\nact layer[1].act\n)\n"
        "norm final_norm\nlinear head\n");
  const ModelSpec post = small(Placement::post, ModelSpec::Kind::mlp);
  CHECK(description(build_network(post)) ==
        "linear layer[0].linear\nact layer[0].act\nnorm layer[0].norm\n"
        "( layer[1]\nlinear layer[1].linear\nact layer[1].act\n)\nnorm layer[1].norm\n"
        "linear head\n");
}

TEST_CASE("drop path at the end of each branch, rising over the blocks or not") {
  ModelSpec spec = small(Placement::pre);
  spec.layers = 3;
  spec.drop_path = 0.2;
  const auto rates = [&] {
    std::vector<double> found;
    const Network network = build_network(spec);
    for (const Layer& layer : network.layers) {
      const auto* sum = std::get_if<Residual>(&layer.op);
      if (sum == nullptr) continue;
      const auto* last = std::get_if<Dropout>(&sum->body.back().op);
      if (last != nullptr) CHECK(last->path == sum->path + ".drop_path");
      if (last != nullptr) CHECK(last->per_sample);
      found.push_back(last != nullptr ? last->rate : 0);
    }
    return found;
  };
  CHECK(rates() == std::vector<double>{0, 0, 0.1, 0.1, 0.2, 0.2});
  spec.drop_path_rises = false;
  CHECK(rates() == std::vector<double>(6, 0.2));
  ModelSpec plain = small(Placement::none, ModelSpec::Kind::mlp);
  plain.drop_path = 0.2;
  plain.placement = Placement::pre;
  plain.norm = NormKind::rmsnorm;
  plain.layers = 3;
  CHECK(description(build_network(plain)).find("dropout layer[2].drop_path\n)") !=
        std::string::npos);
}

TEST_CASE("dropout of an mlp: its features, each layer's activation, or the stream") {
  ModelSpec spec = small(Placement::post, ModelSpec::Kind::mlp);
  spec.layers = 2;
  spec.dropout = 0.1;
  spec.dropout_place = {true, true, false, true};
  CHECK(description(build_network(spec)) ==
        "dropout input.dropout\nlinear layer[0].linear\nact layer[0].act\n"
        "dropout layer[0].dropout\nnorm layer[0].norm\ndropout layer[0].stream_dropout\n"
        "( layer[1]\nlinear layer[1].linear\nact layer[1].act\ndropout layer[1].dropout\n)\n"
        "norm layer[1].norm\ndropout layer[1].stream_dropout\nlinear head\n");
  spec.placement = Placement::none;
  spec.norm = NormKind::none;
  spec.dropout_place = {true, false, false, false};
  CHECK(description(build_network(spec)) ==
        "dropout input.dropout\nlinear layer[0].linear\nact layer[0].act\n"
        "linear layer[1].linear\nact layer[1].act\nlinear head\n");
}

TEST_CASE("weights inside branches are marked: all of a plain mlp's body, never a head") {
  const auto marked = [](const ModelSpec& spec) {
    std::string paths;
    for (const ParameterInfo& info : parameters(build_network(spec)))
      if (info.in_branch) paths += info.path + " ";
    return paths;
  };
  CHECK(marked(small(Placement::none, ModelSpec::Kind::mlp)) ==
        "layer[0].linear.weight layer[1].linear.weight ");
  CHECK(marked(small(Placement::pre, ModelSpec::Kind::mlp)) == "layer[1].linear.weight ");
  ModelSpec spec = small(Placement::post);
  spec.layers = 1;
  CHECK(marked(spec) ==
        "block[0].attn.q.weight block[0].attn.k.weight block[0].attn.v.weight "
        "block[0].attn.o.weight block[0].ffn.in.weight block[0].ffn.out.weight ");
}

TEST_CASE("lambda scales the layers of an mlp's branches, not the layer that feeds them") {
  ModelSpec spec = small(Placement::pre, ModelSpec::Kind::mlp);
  spec.lambda = parse("1/2");
  const std::vector<ParameterInfo> infos = parameters(build_network(spec));
  CHECK(infos[0].std == rounded(1 / std::sqrt(3.0), 8));
  CHECK(infos[1].std == rounded(0.5 / std::sqrt(8.0), 8));
}

TEST_CASE("biases, norm gains and the embedding exist only when the model asks") {
  ModelSpec spec = small(Placement::sub_ln);
  spec.layers = 1;
  spec.bias = true;
  spec.init.bias_variance = 0.25;
  spec.norm_affine = true;
  spec.norm_eps = 1e-5;
  spec.input.kind = InputKind::tokens;
  spec.input.second = 4;
  std::string paths;
  for (const ParameterInfo& info : parameters(build_network(spec))) {
    paths += info.path + "\n";
    const bool matrix = info.path.find(".weight") != std::string::npos;
    CHECK(info.is_matrix == matrix);
    if (info.path.find(".bias") != std::string::npos) CHECK(info.std == 0.5);
    if (!matrix) CHECK(info.rows == 1);
  }
  CHECK(paths ==
        "embedding.weight\n"
        "block[0].attn.norm.gain\nblock[0].attn.norm.shift\n"
        "block[0].attn.q.weight\nblock[0].attn.q.bias\n"
        "block[0].attn.k.weight\nblock[0].attn.k.bias\n"
        "block[0].attn.v.weight\nblock[0].attn.v.bias\n"
        "block[0].attn.mix_norm.gain\nblock[0].attn.mix_norm.shift\n"
        "block[0].attn.o.weight\nblock[0].attn.o.bias\n"
        "block[0].ffn.norm.gain\nblock[0].ffn.norm.shift\n"
        "block[0].ffn.in.weight\nblock[0].ffn.in.bias\n"
        "block[0].ffn.act_norm.gain\nblock[0].ffn.act_norm.shift\n"
        "block[0].ffn.out.weight\nblock[0].ffn.out.bias\n"
        "final_norm.gain\nfinal_norm.shift\nhead.weight\n");
  const std::vector<ParameterInfo> infos = parameters(build_network(spec));
  CHECK(infos[0].rows == 5);
  CHECK(infos[0].columns == 8);
  CHECK(infos[0].std == 2);
  CHECK(infos[0].role == "embedding");
}

TEST_CASE("a plain post stack has no embedding, bias or norm gain") {
  ModelSpec spec = small(Placement::post);
  const Network network = build_network(spec);
  CHECK(parameters(network).size() == 2 * 6 + 1);
  CHECK(parameter_count(network) == 2 * (4 * 8 * 8 + 2 * 8 * 12) + 8 * 5);
  CHECK(network.features == 8);
  CHECK(network.classes == 5);
  CHECK(network.sequence == 24);
}

TEST_CASE("the parameter count is that of the listed parameters") {
  for (const Placement placement : {Placement::post, Placement::pre, Placement::res_post,
                                    Placement::sandwich, Placement::sub_ln, Placement::none}) {
    ModelSpec spec = small(placement);
    spec.bias = spec.norm_affine = true;
    const Network network = build_network(spec);
    std::int64_t sum = 0;
    for (const ParameterInfo& info : parameters(network)) sum += info.rows * info.columns;
    CHECK(parameter_count(network) == sum);
  }
}

TEST_CASE("a network that is too large is refused by its count, at once") {
  ModelSpec spec = small(Placement::post);
  spec.layers = 1000000;
  spec.width = 1000000;
  spec.heads = 1;
  spec.ffn = 1000000;
  spec.vocab = 1000000;
  CHECK_THROWS_WITH_AS(
      build_network(spec),
      "a network of 6000001000000000000 parameters is too large: the limit is 1000000000000000; "
      "use fewer layers than 1000000 or a smaller width",
      Error);
  spec.layers = 1000;
  spec.vocab = 2;
  CHECK_THROWS_AS(build_network(spec), Error);
}

TEST_CASE("a depth that has no room says which has") {
  ModelSpec spec = small(Placement::post);
  spec.layers = 1000000;
  const auto hint_of = [&] {
    try {
      build_network(spec);
    } catch (const Error& error) {
      return error.hint();
    }
    return std::string("none");
  };
  const std::string hint = hint_of();
  REQUIRE(hint.starts_with("about "));
  const double fit = std::stod(hint.substr(6));
  CHECK(hint ==
        "about " + std::to_string(static_cast<long long>(fit)) + " layers of this model fit");
  // It does fit, and not many more do.
  spec.layers = static_cast<std::int64_t>(1.01 * fit);
  CHECK(hint_of() != "none");
  spec.layers = static_cast<std::int64_t>(0.1 * fit);
  CHECK(hint_of() == "none");
}

TEST_CASE("the limit counts what is laid out: one parameter more is refused") {
  ModelSpec spec = small(Placement::none, ModelSpec::Kind::mlp);
  spec.width = 500000;
  spec.features = 500000;
  spec.layers = 3999;
  spec.vocab = 500000;  // 4000 * 500000^2 is the limit itself
  CHECK(parameter_count(build_network(spec)) == 1000000000000000);
  spec.vocab = 500001;
  CHECK_THROWS_AS(build_network(spec), Error);
}

TEST_CASE("100000 layers are laid out in time that grows as their number") {
  ModelSpec spec = small(Placement::pre);
  const auto laid_out = [&](std::int64_t layers) {
    spec.layers = layers;
    const std::clock_t start = std::clock();
    const Network network = build_network(spec);
    CHECK(network.layers.size() == static_cast<std::size_t>(2 * layers + 2));
    CHECK(residual(network, "block[" + std::to_string(layers - 1) + "].ffn").body.size() == 4);
    return static_cast<double>(std::clock() - start);
  };
  // Processor time of one run: ten times the layers, and what a quadratic cost would make of it.
  const double few = laid_out(10000), many = laid_out(100000);
  CHECK(many < 50 * few);
}

TEST_CASE("alpha and lambda must be known, positive and finite") {
  ModelSpec spec = small(Placement::post);
  spec.alpha.reset();
  CHECK_THROWS_WITH_AS(build_network(spec),
                       "alpha is \"auto\", which has to be solved for an optimizer; give a number "
                       "or a formula in N, such as (2*N)^(1/2)",
                       Error);
  for (const char* bad : {"0", "-1", "N-2", "N-3", "1e400", "0.0001^(1000*N)"}) {
    CAPTURE(bad);
    spec.alpha = 1;
    spec.lambda = parse(bad);
    CHECK_THROWS_AS(build_network(spec), Error);
    spec.lambda = 1;
    spec.alpha = parse(bad);
    CHECK_THROWS_AS(build_network(spec), Error);
  }
  spec.alpha = parse("M");
  CHECK_THROWS_AS(build_network(spec), Error);
}
