#include <doctest/doctest.h>

#include <cmath>

#include "describe.hpp"
#include "scalecalc/network.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

ModelSpec small(Placement placement, std::int64_t layers = 1) {
  ModelSpec spec;
  spec.layers = layers;
  spec.width = 8;
  spec.heads = 2;
  spec.ffn = 12;
  spec.vocab = 5;
  spec.placement = placement;
  return spec;
}

const Residual& residual(const Layer& layer) {
  return std::get<Residual>(layer.op);
}

double std_of(const Network& network, const std::string& path) {
  for (const ParameterInfo& info : parameters(network))
    if (info.path == path) return info.std;
  return std::nan("");
}

const std::string attn =
    "( block[0].attn\nlinear block[0].attn.q\nlinear block[0].attn.k\nlinear block[0].attn.v\n"
    "mix block[0].attn\nlinear block[0].attn.o\n)\n";
const std::string ffn =
    "( block[0].ffn\nlinear block[0].ffn.in\nact block[0].ffn.act\nlinear block[0].ffn.out\n)\n";
const std::string attn_norm = "norm block[0].attn.norm\n", ffn_norm = "norm block[0].ffn.norm\n";
const std::string end = "norm final_norm\nlinear head\n";

}  // namespace

TEST_CASE("branches without norms keep the norm before the head") {
  for (const Placement placement : {Placement::rezero, Placement::skipinit, Placement::fixup}) {
    ModelSpec spec = small(placement);
    CHECK(description(build_network(spec)) == attn + ffn + end);
    spec.norm = NormKind::none;
    CHECK(description(build_network(spec)) == attn + ffn + "linear head\n");
  }
}

TEST_CASE("rezero and skipinit train a scalar that starts at 0") {
  for (const Placement placement : {Placement::rezero, Placement::skipinit}) {
    const Network network = build_network(small(placement));
    CHECK(residual(network.layers[0]).branch == 0);
    CHECK(residual(network.layers[0]).skip == 1);
    CHECK(residual(network.layers[0]).trainable_branch);
    std::vector<ParameterInfo> scales;
    for (const ParameterInfo& info : parameters(network))
      if (info.role == "scale") scales.push_back(info);
    REQUIRE(scales.size() == 2);
    CHECK(scales[0].path == "block[0].attn.scale");
    CHECK(scales[1].path == "block[0].ffn.scale");
    CHECK(scales[1].rows * scales[1].columns == 1);
    CHECK(scales[1].std == 0);
    CHECK_FALSE(scales[1].is_matrix);
  }
  CHECK_FALSE(residual(build_network(small(Placement::fixup)).layers[0]).trainable_branch);
}

// L = 2N = 8 branches of m = 2 matrices: L^(-1/(2m - 2)) = 8^(-1/2); gated, m = 3: 8^(-1/4).
TEST_CASE("fixup: the last matrix starts at 0, the others are divided by the depth") {
  ModelSpec spec = small(Placement::fixup, 4);
  const double lecun = 1 / std::sqrt(8.0);
  Network network = build_network(spec);
  CHECK(std_of(network, "block[3].attn.q.weight") == rounded(lecun, 64));
  CHECK(std_of(network, "block[3].attn.v.weight") == rounded(lecun * std::pow(8, -0.5), 64));
  CHECK(std_of(network, "block[3].attn.o.weight") == 0);
  CHECK(std_of(network, "block[3].ffn.in.weight") == rounded(lecun * std::pow(8, -0.5), 64));
  CHECK(std_of(network, "block[3].ffn.out.weight") == 0);
  CHECK(std_of(network, "head.weight") == rounded(lecun, 64));
  spec.gated = true;
  network = build_network(spec);
  for (const char* path : {"block[3].ffn.in.weight", "block[3].ffn.gate.weight"})
    CHECK(std_of(network, path) == rounded(lecun * std::pow(8, -0.25), 64));
}

TEST_CASE("a Post-Norm stack may begin without a norm") {
  for (const Placement placement :
       {Placement::post, Placement::branchnorm, Placement::ngpt, Placement::pre}) {
    ModelSpec spec = small(placement);
    const bool has_one = placement != Placement::pre;
    CHECK(description(build_network(spec)).starts_with("norm input.norm\n") == has_one);
    spec.input.norm = !has_one;
    CHECK(description(build_network(spec)).starts_with("norm input.norm\n") != has_one);
  }
}

TEST_CASE("branchnorm multiplies the branch by its ramp, over alpha") {
  ModelSpec spec = small(Placement::branchnorm);
  spec.ramp = 0.25;
  Network network = build_network(spec);
  CHECK(description(network) == "norm input.norm\n" + attn + attn_norm + ffn + ffn_norm + end);
  CHECK(residual(network.layers[1]).branch == 0.25);
  CHECK(residual(network.layers[1]).skip == 1);
  spec.alpha = parse("2*N");
  network = build_network(spec);
  CHECK(residual(network.layers[1]).branch == 0.125);
  spec.ramp = 0;
  CHECK(residual(build_network(spec).layers[1]).branch == 0);
}

// Loshchilov et al. 2024: (1-a) x + a Norm(F(x)) is along 19 x + Norm(F(x)) at a = 0.05.
TEST_CASE("ngpt norms what branches give and what sums are, and has no final norm") {
  ModelSpec spec = small(Placement::ngpt);
  spec.alpha = parse("1/0.05 - 1");
  Network network = build_network(spec);
  const auto ended = [](std::string body, const std::string& norm) {
    return body.insert(body.size() - 2, norm);
  };
  CHECK(description(network) == "norm input.norm\n" + ended(attn, "norm block[0].attn.out_norm\n") +
                                    attn_norm + ended(ffn, "norm block[0].ffn.out_norm\n") +
                                    ffn_norm + "linear head\n");
  CHECK(residual(network.layers[1]).skip == 19);
  CHECK(residual(network.layers[1]).branch == 1);
  spec.parallel = true;
  CHECK(description(build_network(spec)).find("norm block[0].out_norm\n") != std::string::npos);
  spec.branch_norms = true;
  CHECK(description(build_network(spec)).find("norm block[0].ffn.out_norm\n") != std::string::npos);
  spec.norm = NormKind::none;
  CHECK_THROWS_AS(build_network(spec), Error);
}

TEST_CASE("a ramp multiplies the branches of every placement, and at 1 nothing") {
  for (const std::string& name : placement_names()) {
    CAPTURE(name);
    ModelSpec spec = small(placement_from(name));
    if (spec.placement == Placement::rezero || spec.placement == Placement::skipinit) continue;
    const auto branch = [&spec] {
      const Network network = build_network(spec);
      for (const Layer& layer : network.layers) {
        if (const auto* plain = std::get_if<Residual>(&layer.op)) return plain->branch;
        if (const auto* dual = std::get_if<DualStream>(&layer.op)) return dual->sublayers[0].branch;
      }
      return -1.0;
    };
    const double full = branch();
    spec.ramp = 0.25;
    CHECK(branch() == 0.25 * full);
  }
}

TEST_CASE("resi-dual sums the branches beside a post-norm stream") {
  const Network network = build_network(small(Placement::resi_dual));
  CHECK(description(network) ==
        "dual( dual\n" + attn + attn_norm + ffn + ffn_norm + ") norm final_norm\nlinear head\n");
  REQUIRE(network.layers.size() == 2);
  const auto& dual = std::get<DualStream>(network.layers[0].op);
  CHECK(dual.sublayers.size() == 2);
  CHECK(dual.norm.width == 8);
  ModelSpec affine = small(Placement::resi_dual);
  affine.norm_affine = true;
  const std::string paths = parameter_paths(build_network(affine));
  CHECK(paths.find("block[0].ffn.norm.shift\nfinal_norm.gain\nfinal_norm.shift\nhead.weight\n") !=
        std::string::npos);
}

TEST_CASE("an mlp takes the placements that fit its branches") {
  ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
  spec.layers = 2;
  spec.placement = Placement::rezero;
  CHECK(description(build_network(spec)) ==
        "linear layer[0].linear\nact layer[0].act\n"
        "( layer[1]\nlinear layer[1].linear\nact layer[1].act\n)\nlinear head\n");
  spec.norm = NormKind::rmsnorm;
  spec.placement = Placement::resi_dual;
  CHECK(description(build_network(spec)) ==
        "linear layer[0].linear\nact layer[0].act\n"
        "dual( dual\n( layer[1]\nlinear layer[1].linear\nact layer[1].act\n)\n"
        "norm layer[1].norm\n) norm final_norm\nlinear head\n");
  spec.layers = 1;
  CHECK_THROWS_AS(build_network(spec), Error);
  spec.placement = Placement::fixup;
  CHECK_THROWS_AS(build_network(spec), Error);
}

TEST_CASE("the scalars carry the formulas that they are the values of") {
  for (const std::string& name : placement_names()) {
    ModelSpec spec = small(placement_from(name), 3);
    const bool is_trained = name == "rezero" || name == "skipinit";
    if (!is_trained) spec.ramp = 0.3;
    const bool has_alpha = name == "post" || name == "pre" || name == "res-post" ||
                           name == "sandwich" || name == "branchnorm" || name == "ngpt" ||
                           name == "none";
    if (has_alpha) spec.alpha = parse("(2*N)^(1/3)");
    const Bindings values = {{"alpha", has_alpha ? std::cbrt(6.0) : 1.0}};
    const Network network = build_network(spec);
    int seen = 0;
    const auto check = [&](const Residual& layer) {
      CAPTURE(layer.path);
      CHECK(layer.skip == doctest::Approx(evaluate(layer.skip_formula.value(), values)));
      CHECK(layer.branch == doctest::Approx(evaluate(layer.branch_formula.value(), values)));
      ++seen;
    };
    for (const Layer& layer : network.layers) {
      if (const auto* one = std::get_if<Residual>(&layer.op)) check(*one);
      if (const auto* dual = std::get_if<DualStream>(&layer.op))
        for (const Residual& one : dual->sublayers) check(one);
    }
    CHECK(seen == 6);
  }
}
