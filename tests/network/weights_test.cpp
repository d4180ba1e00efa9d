#include <doctest/doctest.h>

#include <cmath>

#include "scalecalc/network.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

ModelSpec wide(const std::string& scheme) {
  ModelSpec spec;
  spec.layers = 8;
  spec.width = 64;
  spec.heads = 4;
  spec.ffn = 256;
  spec.vocab = 100;
  spec.init.scheme = scheme;
  return spec;
}

double std_of(const ModelSpec& spec, const std::string& role) {
  for (const ParameterInfo& info : parameters(build_network(spec)))
    if (info.role == role) return info.std;
  return std::nan("");
}

}  // namespace

TEST_CASE("lecun, xavier and he divide by the fans") {
  CHECK(std_of(wide("lecun"), "q") == rounded(0.125, 2));
  CHECK(std_of(wide("lecun"), "ffn_out") == rounded(0.0625, 2));
  CHECK(std_of(wide("lecun"), "head") == rounded(0.125, 2));
  CHECK(std_of(wide("xavier"), "ffn_in") == rounded(std::sqrt(2.0 / 320), 2));
  CHECK(std_of(wide("xavier"), "ffn_out") == rounded(std::sqrt(2.0 / 320), 2));
  CHECK(std_of(wide("xavier"), "head") == rounded(std::sqrt(2.0 / 164), 2));
  CHECK(std_of(wide("he"), "ffn_out") == rounded(std::sqrt(2.0 / 256), 2));
}

TEST_CASE("gpt2 scales the output projections by the number of sublayers") {
  for (const char* role : {"q", "k", "v", "ffn_in", "head"})
    CHECK(std_of(wide("gpt2"), role) == rounded(0.02, 2));
  CHECK(std_of(wide("gpt2"), "o") == rounded(0.005, 2));
  CHECK(std_of(wide("gpt2"), "ffn_out") == rounded(0.005, 2));
}

TEST_CASE("bert has one std for all") {
  for (const char* role : {"q", "k", "v", "o", "ffn_in", "ffn_out", "head"})
    CHECK(std_of(wide("bert"), role) == rounded(0.02, 2));
}

TEST_CASE("t5 divides q by the head's width too") {
  CHECK(std_of(wide("t5"), "q") == rounded(1 / std::sqrt(64.0 * 16), 2));
  CHECK(std_of(wide("t5"), "k") == rounded(0.125, 2));
  CHECK(std_of(wide("t5"), "o") == rounded(0.125, 2));
  CHECK(std_of(wide("t5"), "ffn_out") == rounded(0.0625, 2));
}

TEST_CASE("a given std or weight variance") {
  ModelSpec spec = wide("std");
  spec.init.std = 0.03;
  CHECK(std_of(spec, "ffn_out") == 0.03);
  spec = wide("weight_variance");
  spec.init.weight_variance = 4;
  CHECK(std_of(spec, "ffn_out") == rounded(0.125, 2));
}

namespace {

void collect(const std::vector<Layer>& layers, std::vector<Linear>& out) {
  for (const Layer& layer : layers) {
    if (const auto* one = std::get_if<Linear>(&layer.op)) out.push_back(*one);
    if (const auto* gated = std::get_if<Gated>(&layer.op))
      out.insert(out.end(), {gated->gate, gated->in});
    if (const auto* conv = std::get_if<Conv2d>(&layer.op)) out.push_back(conv->weight);
    if (const auto* mix = std::get_if<Attention>(&layer.op))
      out.insert(out.end(), {mix->q, mix->k, mix->v, mix->o});
    if (const auto* residual = std::get_if<Residual>(&layer.op)) {
      collect(residual->body, out);
      collect(residual->shortcut, out);
    }
  }
}

std::vector<Linear> weights(const ModelSpec& spec) {
  std::vector<Linear> all;
  collect(build_network(spec).layers, all);
  return all;
}

}  // namespace

// The sizes are given here by hand.
TEST_CASE("each weight's formula gives its variance") {
  for (const std::string scheme : {"lecun", "xavier", "he", "gpt2", "bert", "t5", "std"}) {
    for (const bool ntk : {false, true}) {
      ModelSpec spec = wide(scheme);
      spec.init.std = 0.07;
      spec.kv_heads = 2;
      spec.gated = true;
      spec.cross_attention = true;
      spec.ntk = ntk;
      spec.lambda = parse("(8*N)^(-1/4)");
      const Bindings values = {{"N", 8},           {"lambda", std::pow(64, -0.25)},
                               {"alpha", 1},       {"width", 64},
                               {"head_width", 16}, {"kv_heads", 2},
                               {"ffn", 256},       {"vocab", 100}};
      for (const Linear& layer : weights(spec)) {
        CAPTURE(scheme);
        CAPTURE(layer.path);
        CHECK(evaluate(layer.variance_formula.value(), values) ==
              rounded(std::pow(layer.multiplier * layer.std, 2), 64));
      }
    }
  }
}

TEST_CASE("formulas are written in the model's own words") {
  ModelSpec spec = wide("xavier");
  spec.kv_heads = 2;
  const std::vector<Linear> all = weights(spec);
  CHECK(all[2].path == "block[0].attn.v");
  CHECK(all[2].variance_formula.value() == parse("2*lambda^2/(width + kv_heads*head_width)"));
  CHECK(all[4].variance_formula.value() == parse("2*lambda^2/(width + ffn)"));
  CHECK(all.back().variance_formula.value() == parse("2/(width + vocab)"));
  ModelSpec mlp = default_spec(ModelSpec::Kind::mlp);
  CHECK(weights(mlp).front().variance_formula.value() == parse("lambda^2/features"));
  CHECK(weights(mlp).back().variance_formula.value() == parse("1/width"));
}

TEST_CASE("the NTK parametrisation has weights of variance 1, and 1/sqrt(fan_in) outside") {
  ModelSpec spec = wide("lecun");
  spec.ntk = true;
  for (const Linear& layer : weights(spec)) {
    CHECK(layer.std == 1);
    CHECK(layer.multiplier == rounded(1 / std::sqrt(static_cast<double>(layer.fan_in)), 2));
  }
  spec.placement = Placement::fixup;
  for (const Linear& layer : weights(spec)) {
    const bool last = layer.role == "o" || layer.role == "ffn_out";
    CHECK(layer.std == (last ? 0 : 1));
    CHECK(layer.multiplier > 0);
  }
}

TEST_CASE("the maps of a condition and those that modulate have gains of their own") {
  ModelSpec spec = wide("lecun");
  spec.placement = Placement::pre;
  spec.modulation = AdaptiveNorm::adaln;
  spec.condition.features = 16;
  spec.init.gain["condition"] = 2;
  spec.init.gain["modulation"] = 3;
  CHECK(std_of(spec, "condition") == rounded(2 * 0.25, 2));
  CHECK(std_of(spec, "modulation") == rounded(3 * 0.125, 2));
}
