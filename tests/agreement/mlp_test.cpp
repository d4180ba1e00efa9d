#include "scalecalc/activation.hpp"
#include "scalecalc/gains.hpp"
#include "scalecalc/gaussian.hpp"
#include "support.hpp"

namespace scalecalc {
namespace {

constexpr int seeds = 48;

/// In a plain stack the spread grows by the squared slope of the map of the second moment a layer.
/// Past this much of that every draw is another network, and a typical one is not predicted.
constexpr double most_growth = 25;
constexpr std::int64_t deep = 12;

std::int64_t depth_of(double slope) {
  if (slope <= 1) return deep;
  const double layers = std::log(most_growth) / (2 * std::log(slope));
  return std::clamp(static_cast<std::int64_t>(layers), std::int64_t{2}, deep);
}

/// A plain stack whose weights keep the second moment of the pre-activation at 1.
ModelSpec stack(const std::string& activation) {
  ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
  spec.width = 96;
  spec.features = 64;
  spec.vocab = 10;
  spec.sequence = 4;
  spec.activation = activation;
  const Gains gain = gains(Activation::named(activation), GaussianInput{});
  REQUIRE(gain.second.has_value());
  REQUIRE(gain.q_slope.has_value());
  spec.layers = depth_of(gain.q_slope->value);
  spec.init.scheme = "weight_variance";
  spec.init.weight_variance = gain.second->value * gain.second->value;
  spec.input.second = 1 / spec.init.weight_variance;
  spec.input.cross = 0.3 * spec.input.second;
  return spec;
}

TEST_CASE("every activation") {
  for (const ActivationInfo& info : activations())
    if (!Activation::named(info.name).has_jump()) agree(info.name, stack(info.name), seeds);
}

TEST_CASE("an activation that jumps has no gradient to compare") {
  const Verification verification = agree("hardshrink", stack("hardshrink"), seeds);
  for (const Comparison& site : verification.sites) CHECK(site.quantity.rfind("grad", 0) != 0);
}

TEST_CASE("places of dropout") {
  const std::vector<DropoutPlaces> all = {{.input = true, .branch = false},
                                          {},
                                          {.branch = false, .stream = true},
                                          {.input = true, .branch = true, .stream = true}};
  for (const Placement placement :
       {Placement::none, Placement::post, Placement::pre, Placement::res_post, Placement::rezero})
    for (const DropoutPlaces& places : all) {
      if (places.stream && placement == Placement::none) continue;
      ModelSpec spec = stack("relu");
      spec.layers = 4;
      spec.placement = placement;
      if (placement != Placement::none) spec.norm = NormKind::layernorm;
      spec.dropout = 0.2;
      spec.dropout_place = places;
      agree(to_string(placement) + " at " + to_string(places), spec, seeds);
    }
}

// Branches that end in an activation have a mean, and with it both streams.
TEST_CASE("two streams of branches with a mean") {
  for (const NormKind norm : {NormKind::layernorm, NormKind::rmsnorm}) {
    ModelSpec spec = stack("relu");
    spec.layers = 6;
    spec.placement = Placement::resi_dual;
    spec.norm = norm;
    agree(to_string(norm), spec, seeds);
  }
}

TEST_CASE("distributions of the weights") {
  for (const Distribution distribution :
       {Distribution::uniform, Distribution::truncated_normal, Distribution::orthogonal}) {
    ModelSpec spec = stack("relu");
    spec.features = spec.width;
    spec.init.distribution = distribution;
    agree(to_string(distribution), spec, seeds);
  }
}

TEST_CASE("norms") {
  for (const NormKind norm : {NormKind::layernorm, NormKind::rmsnorm, NormKind::scalenorm,
                              NormKind::batchnorm, NormKind::instancenorm}) {
    ModelSpec spec = stack("gelu");
    spec.layers = 6;
    spec.norm = norm;
    spec.sequence = 48;
    agree(to_string(norm), spec, seeds);
  }
}

}  // namespace
}  // namespace scalecalc
