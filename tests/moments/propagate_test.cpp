#include <cmath>
#include <set>

#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

const std::vector<std::string> models = {
    "model = {kind=\"mlp\", layers=3, bias=true, norm=\"layernorm\", norm_affine=true}",
    "model = {kind=\"transformer\", layers=2, placement=\"sub-ln\", bias=true, norm_affine=true}",
    "model = {kind=\"transformer\", layers=2, placement=\"rezero\", gated=true}",
    "model = {kind=\"transformer\", layers=2, placement=\"resi-dual\", dropout=0.1}",
    "model = {kind=\"transformer\", layers=2, placement=\"pre\", causal=true, batch=2}",
    "model = {kind=\"transformer\", layers=2, placement=\"pre\", cross_attention=true}",
    "model = {kind=\"transformer\", layers=2}\ninput = {kind=\"tokens\", positions=0.5}",
};

/// The prototype's number, its own scatter over three seeds, and what a leading order leaves out.
struct Expected {
  std::string path;
  double second, cross, scatter;
};

TEST_CASE("an activation that nobody knows is named, by every engine") {
  Network network = build_network(parse_model("model = {kind=\"mlp\", layers=1}", "test"));
  for (Layer& layer : network.layers)
    if (auto* activation = std::get_if<ActivationLayer>(&layer.op)) activation->function = "rilu";
  const auto says = [](const auto& run) -> std::string {
    try {
      run();
    } catch (const Error& error) {
      return error.message();
    }
    return {};
  };
  CHECK(says([&] { propagate(network); }).find("rilu") != std::string::npos);
  CHECK(says([&] { propagate_montecarlo(network, {}); }).find("rilu") != std::string::npos);
}

}  // namespace

TEST_CASE("parameters come in the order of the network, sites once each") {
  for (const std::string& toml : models) {
    CAPTURE(toml);
    const Network network = build_network(parse_model(toml, "model"));
    const Trace trace = propagate(network);
    const auto expected = parameters(network);
    REQUIRE(trace.parameters.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(trace.parameters[i].path == expected[i].path);
      CHECK(trace.parameters[i].rows == expected[i].rows);
      CHECK(trace.parameters[i].columns == expected[i].columns);
      CHECK(trace.parameters[i].grad_second.is_known());
      CHECK(trace.parameters[i].grad_second.value >= 0);
    }
    std::set<std::string> paths;
    for (const Site& site : trace.sites) {
      CHECK(paths.insert(site.path).second);
      CHECK(std::isfinite(site.second.value));
      CHECK(site.grad_second.value >= 0);
      CHECK(site.second.error <= 1e-5 * site.second.value);  // below what is printed
    }
  }
}

TEST_CASE("forward alone leaves gradients unknown") {
  PropagateOptions options;
  options.backward = false;
  const Trace trace =
      propagate(build_network(parse_model("model = {kind=\"mlp\", layers=2}", "model")), options);
  CHECK(trace.sites.back().second.is_known());
  CHECK_FALSE(trace.sites.back().grad_second.is_known());
  CHECK_FALSE(trace.parameters.back().grad_second.is_known());
}

TEST_CASE("one token has no cross") {
  const Trace trace = trace_of_model("model = {kind=\"mlp\", layers=2, sequence=1}");
  CHECK_FALSE(site(trace, "head").cross.is_known());
  CHECK_FALSE(site(trace, "head").grad_cross.is_known());
}

// The runnable prototype of the rules has the leading order alone (second moments and crosses by
// position, sampled softmax): layers=12 width=256 heads=4 ffn=1024 vocab=64 sequence=24 relu
// cross=0.1. At width 65536 with the same T the next orders, T/d and 1/d, are below 1/2700.
TEST_CASE("a wide 12-layer transformer has the prototype's moments") {
  const std::string shape =
      "layers=12, width=4096, heads=4, ffn=4096, vocab=64, sequence=24, activation=\"relu\"}\n"
      "input = {cross=0.1}\n";
  const double next_order = 8.0 / 4096;
  SUBCASE("pre") {
    const Trace trace =
        trace_of_model("model = {kind=\"transformer\", placement=\"pre\", " + shape);
    for (const Expected& of : {Expected{"block[0].attn", 1.17892, 0.240491, 8e-5},
                               {"block[0].ffn", 1.67892, 0.453968, 8.5e-5},
                               {"block[5].attn", 6.27269, 4.25481, 4.2e-4},
                               {"block[5].ffn", 6.77269, 4.62181, 4.2e-4},
                               {"block[11].ffn", 14.3288, 11.5725, 6.7e-4}}) {
      CAPTURE(of.path);
      const Site& at = site(trace, of.path);
      const double allowed = 5 * of.scatter + next_order * of.second;
      CHECK(std::fabs(at.second.value - of.second) < allowed);
      CHECK(std::fabs(at.cross.value - of.cross) < allowed);
    }
  }
  SUBCASE("post") {
    const Trace trace =
        trace_of_model("model = {kind=\"transformer\", placement=\"post\", " + shape);
    for (const Expected& of : {Expected{"block[0].attn", 1, 0.203993, 5.9e-5},
                               {"block[0].ffn", 1, 0.278313, 5.1e-5},
                               {"block[5].attn", 1, 0.949289, 5.7e-6},
                               {"block[11].ffn", 1, 0.999226, 8.9e-8}}) {
      CAPTURE(of.path);
      const Site& at = site(trace, of.path);
      CHECK(at.second.value == near(1));
      // Of D = 1 - cross, whose relative error grows by one next order a sublayer.
      const double apart = 1 - of.cross;
      CHECK(std::fabs(at.cross.value - of.cross) < 5 * of.scatter + 24 * next_order * apart);
    }
  }
}

TEST_CASE("many positions on a grid agree with all of them") {
  const Network network = build_network(
      parse_model("model = {kind=\"transformer\", layers=2, placement=\"pre\", causal=true, "
                  "sequence=96, width=256}\ninput = {cross=0.1}",
                  "model"));
  PropagateOptions all;
  all.all_positions = true;
  const Trace coarse = propagate(network), fine = propagate(network, all);
  REQUIRE(coarse.sites.size() == fine.sites.size());
  for (std::size_t i = 0; i < fine.sites.size(); ++i) {
    CAPTURE(fine.sites[i].path);
    const double m = fine.sites[i].second.value;
    // Between positions an eighth apart: a quarter of an eighth squared, through few layers.
    CHECK(std::fabs(coarse.sites[i].second.value - m) <
          0.005 * m + coarse.sites[i].second.truncation);
    CHECK(std::fabs(coarse.sites[i].cross.value - fine.sites[i].cross.value) <
          0.005 * m + coarse.sites[i].cross.truncation);
  }
}
