#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "scalecalc/moments.hpp"

using namespace scalecalc;

namespace {

/// A standard error from 32 replicates is Student's t with 31 degrees of freedom: past 5 once in
/// 5e4, and seeds are fixed.
constexpr double kStandardErrors = 5;

struct Worst {
  double z = 0;
  std::string at;
  int compared = 0, uncertain = 0;
  void add(const Figure& sampled, const Figure& integrated, const std::string& path) {
    if (!integrated.is_known()) return;
    ++compared;
    if (sampled.error > 1e-9 * std::fabs(integrated.value)) ++uncertain;
    // Norms leave rounding alone: 1 is 1.
    const double slack = integrated.error + 1e-12 * std::fabs(integrated.value) + 1e-300;
    const double apart = std::fabs(sampled.value - integrated.value);
    const double off = std::max(0.0, apart - slack) / std::max<double>(sampled.error, slack);
    if (off <= z) return;
    z = off;
    at = path;
  }
};

Worst compare(const ModelSpec& spec, const MonteCarloPropagation& options) {
  const Network network = build_network(spec);
  const Trace sampled = propagate_montecarlo(network, options), integrated = propagate(network);
  REQUIRE(sampled.sites.size() == integrated.sites.size());
  REQUIRE(sampled.parameters.size() == integrated.parameters.size());
  Worst worst;
  for (std::size_t i = 0; i < sampled.sites.size(); ++i) {
    const Site &a = sampled.sites[i], &b = integrated.sites[i];
    REQUIRE(a.path == b.path);
    worst.add(a.second, b.second, a.path + " second");
    worst.add(a.cross, b.cross, a.path + " cross");
    worst.add(a.grad_second, b.grad_second, a.path + " grad_second");
    worst.add(a.grad_cross, b.grad_cross, a.path + " grad_cross");
  }
  for (std::size_t i = 0; i < sampled.parameters.size(); ++i)
    worst.add(sampled.parameters[i].grad_second, integrated.parameters[i].grad_second,
              sampled.parameters[i].path);
  return worst;
}

ModelSpec transformer(Placement placement, const char* activation) {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.layers = 3;
  spec.width = 64;
  spec.ffn = 128;
  spec.sequence = 8;
  spec.vocab = 16;
  spec.placement = placement;
  spec.activation = activation;
  spec.input.cross = 0.2;
  return spec;
}

/// Of two inputs.
ModelSpec mlp(std::int64_t layers, const char* activation) {
  ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
  spec.layers = layers;
  spec.activation = activation;
  spec.input.cross = 0.5;
  spec.sequence = 2;
  return spec;
}

}  // namespace

TEST_CASE("sampled transformers agree with integrated ones within their standard errors") {
  for (const auto& [placement, activation] :
       {std::pair{Placement::post, "gelu"}, std::pair{Placement::pre, "silu"}}) {
    CAPTURE(to_string(placement));
    MonteCarloPropagation options;
    options.samples = 1 << 15;
    options.threads = 2;
    const Worst worst = compare(transformer(placement, activation), options);
    CAPTURE(worst.at);
    CHECK(worst.z < kStandardErrors);
    CHECK(worst.uncertain > worst.compared / 2);
  }
}

TEST_CASE("a causal mask is sampled by positions") {
  ModelSpec spec = transformer(Placement::pre, "relu");
  spec.causal = true;
  spec.layers = 2;
  spec.sequence = 6;
  MonteCarloPropagation options;
  options.samples = 1 << 14;
  options.threads = 2;
  const Worst worst = compare(spec, options);
  CAPTURE(worst.at);
  CHECK(worst.z < kStandardErrors);
  CHECK(worst.uncertain > worst.compared / 2);
}

TEST_CASE("errors of a deep stack add up as they hang together") {
  const ModelSpec spec = mlp(20, "tanh");
  MonteCarloPropagation options;
  options.samples = 1 << 15;
  const Worst worst = compare(spec, options);
  CAPTURE(worst.at);
  CHECK(worst.z < kStandardErrors);
}

TEST_CASE("the same seed gives the same bits on any number of threads, another one others") {
  const Network network = build_network(transformer(Placement::post, "gelu"));
  MonteCarloPropagation options;
  options.samples = 1 << 11;
  const auto last = [&] {
    const Trace trace = propagate_montecarlo(network, options);
    CHECK(trace.engine == "montecarlo");
    return trace.sites.back().cross;
  };
  const Figure one = last();
  options.threads = 3;
  const Figure three = last();
  CHECK(one.value == three.value);
  CHECK(one.error == three.error);
  options.seed = 1;
  CHECK(last().value != one.value);
}

TEST_CASE("standard errors fall with the root of the samples") {
  const Network network = build_network(transformer(Placement::pre, "silu"));
  const auto error = [&](std::int64_t samples) {
    MonteCarloPropagation options;
    options.samples = samples;
    options.threads = 2;
    return propagate_montecarlo(network, options).parameters.back().grad_second.error;
  };
  // Each is known to 1/sqrt(2*31) = 13%: their ratio to 18%, and 4 times that is a factor of 2.
  const double ratio = error(1 << 12) / error(1 << 16);
  CHECK(ratio > 4 / 2.0);
  CHECK(ratio < 4 * 2.0);
}

// Of 2^24 samples each of 32 replicates has 2^19, twice what one propagation keeps.
TEST_CASE("more samples take more propagations, not more memory") {
  const ModelSpec spec = mlp(1, "relu");
  MonteCarloPropagation options;
  options.samples = std::int64_t{1} << 24;
  options.threads = 2;
  int steps = 0;
  options.progress = [&](double) { ++steps; };
  const auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;  // MiB
  };
  const double before = peak();
  const Worst worst = compare(spec, options);
  // Two threads with 2^18 samples: 64 bytes of each, and two more arrays while they are drawn.
  CHECK(peak() - before < 2 * (64 + 16) / 4.0 + 16);
  CHECK(steps == 64);
  CAPTURE(worst.at);
  CHECK(worst.z < kStandardErrors);
}

TEST_CASE("progress rises to one, and changes no number") {
  ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
  spec.layers = 2;
  const Network network = build_network(spec);
  MonteCarloPropagation options;
  options.samples = 4096;
  options.threads = 2;
  const double silent = propagate_montecarlo(network, options).sites.back().second.value;
  std::vector<double> shares;
  options.progress = [&](double done) { shares.push_back(done); };
  CHECK(propagate_montecarlo(network, options).sites.back().second.value == silent);
  CHECK(shares.size() > 8);
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.back() == 1);
}

TEST_CASE("options that cannot be run are refused") {
  const Network network = build_network(transformer(Placement::post, "relu"));
  MonteCarloPropagation options;
  options.samples = 1;
  CHECK_THROWS_AS(propagate_montecarlo(network, options), Error);
  options.samples = 1 << 12;
  options.threads = 0;
  CHECK_THROWS_AS(propagate_montecarlo(network, options), Error);
}
