#include "moments/layers/alike_layers.hpp"

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

Experts* experts_in(std::vector<Layer>& layers) {
  for (Layer& layer : layers) {
    if (auto* found = std::get_if<Experts>(&layer.op)) return found;
    if (auto* residual = std::get_if<Residual>(&layer.op))
      if (Experts* found = experts_in(residual->body)) return found;
    if (auto* parallel = std::get_if<Parallel>(&layer.op))
      for (std::vector<Layer>& branch : parallel->branches)
        if (Experts* found = experts_in(branch)) return found;
  }
  return nullptr;
}

void check_same(const Figure& a, const Figure& b) {
  CHECK((a.value == b.value || (std::isnan(a.value) && std::isnan(b.value))));
  CHECK((a.error == b.error || (std::isnan(a.error) && std::isnan(b.error))));
}

}  // namespace

TEST_CASE("layers are alike but for their paths") {
  Linear a;
  a.path = "expert[0].in";
  a.fan_in = 8;
  Linear b = a;
  b.path = "expert[1].in";
  CHECK(are_alike(a, b));
  b.std = 0.5;
  CHECK_FALSE(are_alike(a, b));
  const std::vector<Layer> one = {{a}}, two = {{a}, {ActivationLayer{"phi", "relu"}}};
  CHECK(are_alike(one, one));
  CHECK_FALSE(are_alike(one, two));
  CHECK_FALSE(are_alike(two, {{a}, {ActivationLayer{"phi", "gelu"}}}));
  CHECK_FALSE(are_alike(one, {{ActivationLayer{"phi", "relu"}}}));
  // Nothing is said of what holds other layers.
  CHECK_FALSE(are_alike({{Residual{}}}, {{Residual{}}}));
  const std::vector<Layer> other = {{b}};
  const SamePaths paths = same_paths(one, other);
  CHECK(paths.of(&std::get<Linear>(one[0].op).path) == &std::get<Linear>(other[0].op).path);
  CHECK(paths.of(&a.path) == &a.path);
}

// A role that nothing asks for keeps one from being alike, and each is then gone through.
TEST_CASE("experts that are alike are gone through once, and have the records of all") {
  for (const std::string gated : {"true", "false"}) {
    const ModelSpec spec = parse_model(
        "model = {kind=\"transformer\", layers=2, width=32, heads=2, causal=true, batch=2, "
        "sequence=6, experts=3, top_k=2, shared_ffn=16, gated=" +
            gated + "}",
        "test");
    const Network network = build_network(spec);
    Network unlike = network;
    Experts* const experts = experts_in(unlike.layers);
    REQUIRE(experts != nullptr);
    REQUIRE(are_alike(experts->experts));
    for (Layer& layer : experts->experts.back()) {
      if (auto* linear = std::get_if<Linear>(&layer.op)) linear->role = "another";
      if (auto* unit = std::get_if<Gated>(&layer.op)) unit->in.role = "another";
    }
    REQUIRE_FALSE(are_alike(experts->experts));
    const Trace once = propagate(network), each = propagate(unlike);
    REQUIRE(once.sites.size() == each.sites.size());
    for (std::size_t k = 0; k < once.sites.size(); ++k) {
      const Site &a = once.sites[k], &b = each.sites[k];
      CAPTURE(a.path);
      CHECK(a.path == b.path);
      check_same(a.second, b.second);
      check_same(a.cross, b.cross);
      check_same(a.grad_second, b.grad_second);
      check_same(a.grad_cross, b.grad_cross);
      CHECK(a.between == b.between);
      CHECK(a.grad_between == b.grad_between);
      CHECK(a.spread == b.spread);
      CHECK(a.grad_spread == b.grad_spread);
    }
    REQUIRE(once.parameters.size() == each.parameters.size());
    for (std::size_t k = 0; k < once.parameters.size(); ++k) {
      CHECK(once.parameters[k].path == each.parameters[k].path);
      check_same(once.parameters[k].grad_second, each.parameters[k].grad_second);
    }
  }
}
