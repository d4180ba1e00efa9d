#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "two_traces.hpp"

/// Networks that compute the same have the same predictions.
namespace scalecalc::random_models {
namespace {

constexpr std::uint64_t seed = 22;
constexpr std::uint64_t models = 150;
/// Relative; both run the same rules on the same numbers.
constexpr double rounding = 1e-12;

bool is_same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) ||
         std::fabs(a - b) <= rounding * std::max(std::fabs(a), std::fabs(b));
}

std::string difference(const std::string& where, const Figure& a, const Figure& b) {
  if (is_same(a.value, b.value) && is_same(a.truncation, b.truncation)) return {};
  return where + ": " + std::to_string(a.value) + " +- " + std::to_string(double{a.truncation}) +
         " without, " + std::to_string(b.value) + " +- " + std::to_string(double{b.truncation}) +
         " with\n";
}

/// Of everything but the layers of this kind themselves, whose numbers move, in the order of the
/// layers.
std::string differences(const Trace& without, const Trace& with, const std::string& kind) {
  const auto others = [&kind](const Trace& trace) {
    std::vector<const Site*> sites;
    for (const Site& site : trace.sites)
      if (site.kind != kind) sites.push_back(&site);
    return sites;
  };
  const std::vector<const Site*> a = others(without), b = others(with);
  REQUIRE(a.size() == b.size());
  std::string out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (const auto& [name, figure] : site_figures)
      out += difference(a[i]->path + " " + name, a[i]->*figure, b[i]->*figure);
  }
  REQUIRE(without.parameters.size() == with.parameters.size());
  for (std::size_t i = 0; i < without.parameters.size(); ++i)
    out += difference(without.parameters[i].path, without.parameters[i].grad_second,
                      with.parameters[i].grad_second);
  return out;
}

void each_layer(std::vector<LayerSpec>& list, const std::function<void(LayerSpec&)>& change) {
  for (LayerSpec& layer : list) {
    change(layer);
    each_layer(layer.layers, change);
    each_layer(layer.shortcut, change);
  }
}

/// Random models, where `change` finds something to do, beside those without it.
void is_the_same(const std::function<bool(ModelSpec&)>& change, int at_least) {
  constexpr std::uint64_t fewer = 60;
  int tried = 0;
  for (std::uint64_t index = 0; index < fewer; ++index) {
    const ModelSpec plain = random_model(seed, index);
    ModelSpec spec = plain;
    if (!change(spec)) continue;
    const std::optional<Trace> without = trace_of(plain), with = trace_of(spec);
    if (!without || !with) continue;
    CAPTURE(index);
    const auto compare = [](const std::string& where, const Figure& a, const Figure& b, double) {
      return difference(where, a, b);
    };
    CHECK(compare_shared(*without, *with, compare) == "");
    ++tried;
  }
  CHECK(tried >= at_least);
}

/// Wherever it stands among the layers of random lists.
void changes_nothing(const LayerSpec& neutral, const std::string& kind) {
  int tried = 0;
  for (std::uint64_t index = 0; index < models; ++index) {
    const ModelSpec plain = random_model(seed, index);
    if (plain.kind != ModelSpec::Kind::layers || plain.layer_list.empty()) continue;
    const Trace without = propagate(build_network(plain));
    // Words have no features in front of their embedding.
    const std::size_t first = plain.layer_list.front().type == LayerSpec::Type::embedding ? 1 : 0;
    for (std::size_t place = first; place <= plain.layer_list.size(); ++place) {
      ModelSpec spec = plain;
      spec.layer_list.insert(spec.layer_list.begin() + static_cast<std::ptrdiff_t>(place), neutral);
      CAPTURE(index);
      CAPTURE(place);
      CHECK(differences(without, propagate(build_network(spec)), kind) == "");
      ++tried;
    }
  }
  CHECK(tried > 100);
}

TEST_CASE("an identity between two layers changes nothing") {
  LayerSpec identity;
  identity.type = LayerSpec::Type::activation;
  identity.activation = "identity";
  changes_nothing(identity, "activation");
}

TEST_CASE("a dropout that drops nothing changes nothing") {
  LayerSpec dropout;
  dropout.type = LayerSpec::Type::dropout;
  dropout.dropout = 0;
  changes_nothing(dropout, "dropout");
}

TEST_CASE("a convolution of one tap is a linear layer") {
  int tried = 0;
  for (std::uint64_t index = 0; index < models; ++index) {
    const ModelSpec plain = random_model(seed, index);
    ModelSpec spec = plain;
    bool found = false;
    each_layer(spec.layer_list, [&found](LayerSpec& layer) {
      if (layer.type != LayerSpec::Type::linear || layer.width == 0) return;
      layer.type = LayerSpec::Type::conv1d;
      found = true;
    });
    if (!found) continue;
    CAPTURE(index);
    CHECK(differences(propagate(build_network(plain)), propagate(build_network(spec)), "") == "");
    ++tried;
  }
  CHECK(tried > 20);
}

TEST_CASE("biases and gains that start at nothing change nothing") {
  is_the_same(
      [](ModelSpec& spec) {
        if (spec.kind == ModelSpec::Kind::layers || spec.bias || spec.init.bias_variance != 0)
          return false;
        spec.bias = true;
        return true;
      },
      15);
  is_the_same(
      [](ModelSpec& spec) {
        if (spec.kind != ModelSpec::Kind::transformer || spec.norm_affine ||
            spec.norm == NormKind::dyt)
          return false;
        spec.norm_affine = true;
        return true;
      },
      10);
  is_the_same(
      [](ModelSpec& spec) {
        if (!spec.norm_affine || spec.gain_offset) return false;
        spec.gain_offset = true;
        return true;
      },
      3);
}

TEST_CASE("what is written out is what is left out") {
  is_the_same(
      [](ModelSpec& spec) {
        if (spec.kind != ModelSpec::Kind::transformer || spec.kv_heads != 0) return false;
        spec.kv_heads = spec.heads;
        return true;
      },
      15);
  // A window of all tokens is none; residual attention takes no window.
  is_the_same(
      [](ModelSpec& spec) {
        if (spec.kind != ModelSpec::Kind::transformer || !spec.causal || spec.window != 0 ||
            spec.residual_attention || spec.encoder_decoder)
          return false;
        spec.window = spec.sequence;
        return true;
      },
      4);
}

}  // namespace
}  // namespace scalecalc::random_models
