#include "verify/agreement/shared_samples.hpp"

#include <doctest/doctest.h>

#include <atomic>

#include "cluster/thread_ranks.hpp"

using namespace scalecalc;

namespace {

Network network() {
  ModelSpec spec;
  spec.layers = 2;
  spec.width = 16;
  spec.heads = 2;
  spec.ffn = 32;
  spec.vocab = 11;
  spec.sequence = 6;
  return build_network(spec);
}

bool same_bits(const PassSamples& a, const PassSamples& b) {
  if (a.sites.size() != b.sites.size() || a.parameters.size() != b.parameters.size()) return false;
  for (std::size_t i = 0; i < a.sites.size(); ++i) {
    const SiteSamples &x = a.sites[i], &y = b.sites[i];
    if (x.path != y.path || x.mean != y.mean || x.second != y.second || x.cross != y.cross ||
        x.grad_second != y.grad_second || x.grad_cross != y.grad_cross) {
      return false;
    }
  }
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    const ParameterSamples &x = a.parameters[i], &y = b.parameters[i];
    if (x.path != y.path || x.second != y.second || x.grad_second != y.grad_second) return false;
  }
  return a.loss == b.loss;
}

}  // namespace

TEST_CASE("ranks share seeds, and every one has the samples of one process") {
  const Network net = network();
  for (const int seeds : {2, 7}) {
    VerifyOptions options;
    options.seeds = seeds;
    options.seed = 5;
    const PassSamples expected = sample_passes(net, {5}, seeds);
    for (const int size : {1, 2, 3, 9}) {
      std::atomic<int> same = 0;
      const auto errors = on_ranks(size, [&](Ranks& ranks) {
        VerifyOptions own = options;
        own.ranks = &ranks;
        if (same_bits(shared_samples(net, own, {}), expected)) ++same;
      });
      CHECK(errors == std::vector<std::string>(static_cast<std::size_t>(size)));
      CHECK(same == size);
    }
    CHECK(same_bits(shared_samples(net, options, {}), expected));
  }
}
