#include <doctest/doctest.h>

#include <set>

#include "network/layers/kinds.hpp"

using namespace scalecalc;

namespace {

Linear linear(const std::string& path) {
  Linear layer;
  layer.path = path;
  layer.role = "linear";
  layer.fan_in = layer.fan_out = 2;
  layer.bias = true;
  return layer;
}

Norm norm(const std::string& path) {
  return {path, NormKind::layernorm, 2, 0.0, true};
}

Residual residual() {
  Residual layer;
  layer.path = "res";
  layer.body = {{linear("res.in")}};
  layer.shortcut = {{linear("res.shortcut.in")}};
  layer.norm = norm("res.norm");
  layer.trainable_branch = true;
  return layer;
}

Attention attention() {
  Attention layer;
  layer.path = "attn";
  layer.q = linear("attn.q");
  layer.k = linear("attn.k");
  layer.v = linear("attn.v");
  layer.o = linear("attn.o");
  layer.norm = norm("attn.mix_norm");
  return layer;
}

/// "INDEX SUFFIX ROWSxCOLUMNS", of the layer's own parameters.
std::vector<std::string> own(const LayerView& layer) {
  std::vector<std::string> found;
  for_each_own_parameter(
      layer, 7,
      [&](const std::string&, std::size_t index, const char* suffix, const ParameterInfo& info) {
        found.push_back(std::to_string(index) + " " + suffix + " " + std::to_string(info.rows) +
                        "x" + std::to_string(info.columns));
      });
  return found;
}

std::vector<std::string> paths(const std::vector<Layer>& layers) {
  std::vector<std::string> found;
  for_each_parameter(layers, 1,
                     [&](const std::string& path, std::size_t, const char* suffix,
                         const ParameterInfo&) { found.push_back(path + suffix); });
  return found;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("a layer counts its own parameters by their names") {
  const Linear weights = linear("w");
  CHECK(own(&weights) == Strings{"0 .weight 2x2", "1 .bias 1x2"});
  CHECK(Linear::weight_index == 0);
  CHECK(Linear::bias_index == 1);
  const Norm affine = norm("n");
  CHECK(own(&affine) == Strings{"0 .gain 1x2", "1 .shift 1x2"});
  CHECK(Norm::gain_index == 0);
  CHECK(Norm::shift_index == 1);
  Norm dyt = norm("n");
  dyt.kind = NormKind::dyt;
  CHECK(own(&dyt) == Strings{"2 .alpha 1x1", "0 .gain 1x2", "1 .shift 1x2"});
  dyt.affine = false;
  CHECK(own(&dyt) == Strings{"2 .alpha 1x1"});
  const Embedding table{"e", 5, 3, 1.0, 0.5};
  CHECK(own(&table) == Strings{"0 .weight 5x3", "1 .position 7x3"});
  CHECK(Embedding::weight_index == 0);
  CHECK(Embedding::position_index == 1);
  const Residual sum = residual();
  CHECK(own(&sum) == Strings{"0 .scale 1x1"});
  CHECK(Residual::scale_index == 0);
  const Attention mix = attention();
  CHECK(own(&mix).empty());
}

TEST_CASE("parameters come in the order of the forward pass") {
  CHECK(paths({{residual()}}) == Strings{"res.in.weight", "res.in.bias", "res.scale",
                                         "res.shortcut.in.weight", "res.shortcut.in.bias",
                                         "res.norm.gain", "res.norm.shift"});
  CHECK(paths({{attention()}}) == Strings{"attn.q.weight", "attn.q.bias", "attn.k.weight",
                                          "attn.k.bias", "attn.v.weight", "attn.v.bias",
                                          "attn.mix_norm.gain", "attn.mix_norm.shift",
                                          "attn.o.weight", "attn.o.bias"});
  CHECK(paths({{DualStream{"dual", {residual()}, norm("dual.norm")}}}).back() == "dual.norm.shift");
  const std::vector<std::string> first = paths({{residual()}});
  std::vector<std::string> both = paths({{Parallel{"both", {{{residual()}}, {{attention()}}}}}});
  CHECK(both.size() == first.size() + paths({{attention()}}).size());
  both.resize(first.size());
  CHECK(both == first);
}

TEST_CASE("a walk meets each layer before what it contains, members too") {
  Strings met;
  const std::vector<Layer> layers = {{DualStream{"dual", {residual()}, norm("dual.norm")}},
                                     {Pool{"pool"}}};
  for_each_layer(layers, [&](const auto& layer) { met.push_back(layer.path); });
  CHECK(met ==
        Strings{"dual", "res", "res.in", "res.shortcut.in", "res.norm", "dual.norm", "pool"});
}

TEST_CASE("children of lists are told from members") {
  Strings listed, members;
  const Residual layer = residual();
  for_each_child(&layer, [&](const LayerView& child, Held held) {
    std::visit(
        [&](const auto* op) { (held == Held::in_list ? listed : members).push_back(op->path); },
        child);
  });
  CHECK(listed == Strings{"res.in", "res.shortcut.in"});
  CHECK(members == Strings{"res.norm"});
}

TEST_CASE("every type of layer has a name of its own, is laid out, and has no key twice") {
  std::set<std::string> names;
  for_each_kind([&](LayerSpec::Type type, const LayerKind& kind) {
    CAPTURE(kind.name);
    CHECK(names.insert(kind.name).second);
    CHECK(find_kind(type) == &kind);
    CHECK(static_cast<bool>(kind.lay_out));
    std::set<std::string> keys = {"type", "name"};
    if (kind.keys != nullptr)
      for (const LayerKey& key : kind.keys()) CHECK(keys.insert(key.name).second);
  });
  CHECK(names.count("pool") == 1);
}
