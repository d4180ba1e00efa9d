#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "networks.hpp"
#include "passes/initial.hpp"
#include "passes/support.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/passes.hpp"
#include "tolerance.hpp"

namespace scalecalc::passes {
namespace {

using namespace testing;

Network transformer(Placement placement, std::int64_t batch = 1) {
  NetworkOptions options;
  options.placement = placement;
  options.blocks = 2;
  options.batch = batch;
  options.sequence = 5;
  options.bias = true;
  return HandBuilt(options).transformer();
}

const SiteSamples& site(const PassSamples& samples, const std::string& path) {
  const auto found = std::ranges::find(samples.sites, path, &SiteSamples::path);
  REQUIRE_MESSAGE(found != samples.sites.end(), path);
  return *found;
}
const ParameterSamples& parameter(const PassSamples& samples, const std::string& path) {
  const auto found = std::ranges::find(samples.parameters, path, &ParameterSamples::path);
  REQUIRE_MESSAGE(found != samples.parameters.end(), path);
  return *found;
}

std::vector<std::string> paths(const Network& network) {
  std::vector<std::string> all;
  for (const SiteSamples& one : sample_passes(network, {}, 1).sites) all.push_back(one.path);
  return all;
}

/// Everything that was measured, in one row.
Vector numbers(const PassSamples& samples) {
  Vector all = samples.loss;
  const auto add = [&](const Vector& more) { all.insert(all.end(), more.begin(), more.end()); };
  for (const SiteSamples& one : samples.sites) {
    for (const Vector* of : {&one.mean, &one.second, &one.cross, &one.grad_second, &one.grad_cross})
      add(*of);
  }
  for (const ParameterSamples& one : samples.parameters) {
    add(one.second);
    add(one.grad_second);
  }
  return all;
}

}  // namespace

TEST_CASE("samples: a linear map under squared errors, from its definition") {
  constexpr std::int64_t kTokens = 3, kFeatures = 4, kClasses = 2;
  Network network = network_of({}, kFeatures, kTokens, 1, kClasses);
  network.loss = Loss::mse;
  const auto device = tensor::make_device<double>("cpu", 1);
  const auto data = draw_data(Plan(network), 5, device);
  const tensor::Tensor<double> w = draw_parameters(network, 5, device).front();
  tensor::Tensor<double> y(device, kTokens, kClasses), dx(device, kTokens, kFeatures);
  device->linear_forward({kTokens, kFeatures, kClasses}, data.features.data(), w.data(), nullptr,
                         y.data());
  tensor::Tensor<double> dy(device, kTokens, kClasses);
  for (std::int64_t i = 0; i < dy.size(); ++i) {
    dy.data()[i] = y.data()[i] - data.values.data()[i];
  }
  device->linear_backward_input({kTokens, kFeatures, kClasses}, dy.data(), w.data(), {dx.data()});

  const PassSamples samples = sample_passes(network, {5, 1, "cpu"}, 1);
  REQUIRE(samples.sites.size() == 2);
  const auto compare = [&](const std::string& path, const tensor::Tensor<double>& value,
                           const tensor::Tensor<double>& gradient) {
    const tensor::Moments forward = device->moments({1, kTokens, value.columns()}, value.data());
    const tensor::Moments backward =
        device->moments({1, kTokens, value.columns()}, gradient.data());
    const SiteSamples& got = site(samples, path);
    CHECK(got.mean[0] == rounded(forward.mean, 512));
    CHECK(got.second[0] == rounded(forward.second, 512));
    CHECK(got.cross[0] == rounded(forward.cross, 512));
    CHECK(got.grad_second[0] == rounded(backward.second, 512));
    CHECK(got.grad_cross[0] == rounded(backward.cross, 512));
  };
  compare("input", data.features, dx);
  compare("head", y, dy);
  CHECK(site(samples, "input").kind == "input");
  CHECK(site(samples, "head").kind == "head");
  CHECK(parameter(samples, "head.weight").second[0] ==
        rounded(dot(download(w), download(w)) / 8.0, 512));
}

TEST_CASE("samples: a bias gradient is the sum of its site's gradients over the tokens") {
  // db = sum_t g_t, so that E db^2 = T g + T (T - 1) k: an identity for every draw of one sequence.
  for (const Placement placement : {Placement::post, Placement::pre, Placement::res_post,
                                    Placement::sandwich, Placement::sub_ln, Placement::none}) {
    CAPTURE(static_cast<int>(placement));
    const PassSamples samples = sample_passes(transformer(placement), {1, 1, "cpu"}, 2);
    int biases = 0;
    for (const ParameterSamples& bias : samples.parameters) {
      if (!bias.path.ends_with(".bias")) continue;
      const std::string path = bias.path.substr(0, bias.path.size() - 5);
      CAPTURE(path);
      const SiteSamples& at = site(samples, path);
      const double key_size = site(samples, "head").grad_second[0];
      for (std::size_t seed = 0; seed < 2; ++seed) {
        const double expected = 5.0 * at.grad_second[seed] + 20.0 * at.grad_cross[seed];
        // Of a key's bias nothing is left but rounding.
        CHECK(std::fabs(bias.grad_second[seed] - expected) < 1e-12 * (expected + key_size));
      }
      ++biases;
    }
    CHECK(biases == 12);
  }
}

TEST_CASE("samples: a site's gradient runs over all paths") {
  // Positions are added where the stream starts, from where a skip and two branches go on; one
  // sequence's table has the very gradient of the stream.
  NetworkOptions options;
  options.placement = Placement::pre;
  options.tokens = true;
  Network network = HandBuilt(options).transformer();
  std::get<Embedding>(network.layers.front().op).position_std = 0.5;
  const PassSamples samples = sample_passes(network, {3, 1, "cpu"}, 1);
  CHECK(site(samples, "embedding").grad_second[0] ==
        rounded(parameter(samples, "embedding.position").grad_second[0], 512));
}

TEST_CASE("samples: sites have the paths of the network, in the order of the forward pass") {
  NetworkOptions options;
  using Paths = std::vector<std::string>;
  CHECK(paths(HandBuilt(options).transformer()) ==
        Paths{"input", "input.norm", "block[0].attn.q", "block[0].attn.k", "block[0].attn.v",
              "block[0].attn.mix", "block[0].attn.o", "block[0].attn", "block[0].ffn.in",
              "block[0].ffn.act", "block[0].ffn.out", "block[0].ffn", "head"});
  options.placement = Placement::sub_ln;
  options.tokens = true;
  CHECK(paths(HandBuilt(options).transformer()) ==
        Paths{"embedding", "block[0].attn.norm", "block[0].attn.q", "block[0].attn.k",
              "block[0].attn.v", "block[0].attn.mix", "block[0].attn.mix_norm", "block[0].attn.o",
              "block[0].attn", "block[0].ffn.norm", "block[0].ffn.in", "block[0].ffn.act",
              "block[0].ffn.act_norm", "block[0].ffn.out", "block[0].ffn", "final_norm", "head"});
  const Network gated = network_of(
      {{Gated{"act", "silu", dense("gate", 6, 6), dense("in", 6, 6)}}, {Pool{"pool"}}}, 6);
  CHECK(paths(gated) == Paths{"input", "gate", "in", "act", "pool", "head"});
}

TEST_CASE("samples: normalised sites are exact, and pooling leaves no cross") {
  const PassSamples samples = sample_passes(transformer(Placement::post, 3), {}, 2);
  for (const SiteSamples& one : samples.sites) {
    CAPTURE(one.path);
    CHECK(one.tokens == 5);
    CHECK(std::fabs(one.cross[0]) <= one.second[0]);
    if (one.kind == "norm" || one.kind == "residual") {
      CHECK(std::fabs(one.second[1] - 1.0) < 100.0 * std::numeric_limits<double>::epsilon());
    }
  }
  const PassSamples pooled = sample_passes(network_of({{Pool{"pool"}}}, 6), {}, 1);
  CHECK(site(pooled, "pool").tokens == 1);
  CHECK(std::isnan(site(pooled, "pool").cross[0]));
  // The mean of 4 tokens hands a quarter of its gradient to each.
  CHECK(site(pooled, "input").grad_second[0] ==
        rounded(site(pooled, "pool").grad_second[0] / 16.0, 512));
  CHECK(site(pooled, "input").grad_cross[0] == rounded(site(pooled, "input").grad_second[0], 512));
}

TEST_CASE("samples: seeds follow one another, whatever the number of threads") {
  const Network network = transformer(Placement::pre, 2);
  const PassSamples three = sample_passes(network, {7, 1, "cpu"}, 3);
  CHECK(numbers(three) == numbers(sample_passes(network, {7, 2, "cpu"}, 3)));
  CHECK(numbers(three) == numbers(sample_passes(network, {7, 5, "cpu"}, 3)));
  const PassSamples last = sample_passes(network, {9, 2, "cpu"}, 1);
  CHECK(last.loss[0] == three.loss[2]);
  CHECK(site(last, "block[1].ffn").grad_cross[0] == site(three, "block[1].ffn").grad_cross[2]);
  CHECK(three.loss[0] != three.loss[1]);
  CHECK(three.loss[0] == Passes<double>(network, {7, 1, "cpu"}).loss());
}

TEST_CASE("samples: float follows double") {
  const Network network = transformer(Placement::post);
  const PassSamples single = sample_passes(network, {1, 1, "cpu"}, 2, true);
  const PassSamples twice = sample_passes(network, {1, 1, "cpu"}, 2);
  for (std::size_t i = 0; i < single.sites.size(); ++i) {
    const SiteSamples &a = single.sites[i], &b = twice.sites[i];
    // As in "float follows double" of whole gradients; squares double a relative error.
    const double rounding = 2e3 * std::numeric_limits<float>::epsilon();
    CHECK(std::fabs(a.second[1] - b.second[1]) < rounding * b.second[1]);
    CHECK(std::fabs(a.grad_second[1] - b.grad_second[1]) < rounding * b.grad_second[1]);
    CHECK(a.second[1] != b.second[1]);
  }
}

TEST_CASE("samples: progress rises to one, and may stop the passes") {
  const Network network = transformer(Placement::pre);
  Vector shares;
  sample_passes(network, {0, 2, "cpu"}, 4, false, [&](double done) {
    shares.push_back(done);
    return true;
  });
  // Within a pass too: its draws, each parameter on the way forward and on the way back.
  const std::size_t reports = 4 * (2 + 2 * parameters(network).size());
  CHECK(shares.size() == reports);
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.front() > 0);
  // A sum of so many parts, each rounded.
  const double rounding = std::numeric_limits<double>::epsilon() * static_cast<double>(reports);
  CHECK(std::fabs(shares.back() - 1) <= rounding);
  int calls = 0;
  try {
    sample_passes(network, {0, 2, "cpu"}, 100, false, [&](double) { return ++calls < 3; });
    FAIL("went on");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::fault);
  }
  CHECK(calls == 3);
}

TEST_CASE("samples: what cannot be run is an error") {
  const Network network = transformer(Placement::pre);
  CHECK_THROWS_AS(sample_passes(network, {}, 0), Error);
  CHECK_THROWS_AS(sample_passes(network, {}, -3), Error);
  CHECK_THROWS_AS(sample_passes(network, {0, 0, "cpu"}, 2), Error);
  CHECK_THROWS_AS(sample_passes(network, {0, 100000, "cpu"}, 2), Error);
  CHECK_THROWS_AS(sample_passes(network, {0, 1, "tpu"}, 2), Error);
  CHECK_THROWS_AS(sample_passes(network_of({}, 0), {}, 2), Error);
}

}  // namespace scalecalc::passes
