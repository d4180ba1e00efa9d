#include <doctest/doctest.h>

#include <limits>
#include <map>

#include "gradient_check.hpp"
#include "passes/check.hpp"
#include "passes/model.hpp"
#include "passes/support.hpp"

namespace scalecalc::passes {
namespace {

Network deep(Placement placement, std::int64_t blocks) {
  NetworkOptions options;
  options.placement = placement;
  options.blocks = blocks;
  options.bias = options.affine = options.tokens = true;
  return HandBuilt(options).transformer();
}

Gradients gradients_of(const Network& network, bool recompute) {
  PassOptions options{3, 1, "cpu"};
  options.recompute = recompute;
  Passes<double> passes(network, options);
  return gradients(passes);
}

/// The loss and the gradients with and without what is computed again.
void check_same(const Network& network) {
  const Gradients kept = gradients_of(network, false), again = gradients_of(network, true);
  CHECK(kept.loss == again.loss);
  CHECK(kept.of == again.of);
}

std::size_t held(const Network& network, bool recompute) {
  const auto device = tensor::make_device<float>("cpu", 1);
  Model<float> model(std::make_shared<const Plan>(network), 1, device, recompute);
  const std::size_t weights = device->bytes_in_use();
  model.backward([](std::size_t, const tensor::Tensor<float>&) {});
  CHECK(device->bytes_in_use() == weights);
  return device->bytes_held() - weights;
}

}  // namespace

TEST_CASE("recompute: the same loss and gradients, bit for bit") {
  for (const Placement placement : {Placement::pre, Placement::post, Placement::sub_ln}) {
    for (const std::int64_t blocks : {1, 2, 5}) {
      CAPTURE(blocks);
      check_same(deep(placement, blocks));
    }
  }
}

TEST_CASE("recompute: dropout masks are drawn as they were") {
  ModelSpec spec;
  spec.layers = 3;
  spec.width = 16;
  spec.ffn = 24;
  spec.sequence = 6;
  spec.dropout = 0.3;
  spec.attention_dropout = 0.2;
  spec.placement = Placement::resi_dual;
  const Network network = build_network(spec);
  CHECK(gradients_of(network, false).of == gradients_of(network, true).of);
}

TEST_CASE("recompute: what an encoder makes goes from group to group") {
  ModelSpec spec;
  spec.encoder_decoder = true;
  spec.width = 16;
  spec.ffn = 24;
  spec.sequence = 6;
  spec.memory.sequence = 5;
  for (const bool scores : {false, true}) {
    spec.residual_attention = scores;
    for (const std::int64_t layers : {1, 5}) {
      spec.layers = layers;
      check_same(build_network(spec));
    }
  }
}

TEST_CASE("recompute: values of the first block go from group to group") {
  ModelSpec spec;
  spec.width = 16;
  spec.ffn = 24;
  spec.sequence = 6;
  spec.value_residual = 0.25;
  for (const bool scores : {false, true}) {
    spec.residual_attention = scores;
    for (const std::int64_t layers : {1, 3, 6}) {
      spec.layers = layers;
      check_same(build_network(spec));
    }
  }
}

TEST_CASE("recompute: a table of relative biases has one gradient, of all its blocks") {
  ModelSpec spec;
  spec.width = 16;
  spec.ffn = 24;
  spec.sequence = 6;
  spec.relative_buckets = 8;
  for (const std::int64_t layers : {1, 5}) {
    spec.layers = layers;
    const Network network = build_network(spec);
    const Gradients kept = gradients_of(network, false), again = gradients_of(network, true);
    CHECK(kept.loss == again.loss);
    REQUIRE(kept.of.size() == again.of.size());
    for (std::size_t p = 0; p < kept.of.size(); ++p) {
      REQUIRE(kept.of[p].size() == again.of[p].size());
      // Of the table sums over blocks, in another order.
      for (std::size_t i = 0; i < kept.of[p].size(); ++i)
        CHECK(again.of[p][i] ==
              doctest::Approx(kept.of[p][i])
                  .scale(rms(kept.of[p]))
                  .epsilon(static_cast<double>(layers) * std::numeric_limits<double>::epsilon()));
    }
  }
}

TEST_CASE("recompute: a tied table has one gradient, of the head and of the embedding") {
  ModelSpec spec;
  spec.width = 16;
  spec.ffn = 24;
  spec.sequence = 6;
  spec.input.kind = InputKind::tokens;
  spec.tie_head = spec.head_bias = true;
  spec.init.gain["head"] = parse("1/3");
  for (const std::int64_t layers : {1, 5}) {
    spec.layers = layers;
    const Network network = build_network(spec);
    check_gradients(network);
    PassOptions options{3, 1, "cpu"};
    options.recompute = true;
    Passes<double> passes(network, options);
    const Vector kept = gradients_of(network, false).of.front();
    Vector again;
    passes.backward([&](std::size_t index, MatrixView<double> g) {
      if (index != 0) return;
      CHECK(again.empty());
      again = Vector(g.data, g.data + g.size());
    });
    REQUIRE(again.size() == kept.size());
    // Sums of as many terms as there are tokens, in another order.
    for (std::size_t i = 0; i < kept.size(); ++i)
      CHECK(again[i] ==
            doctest::Approx(kept[i]).scale(rms(kept)).epsilon(
                static_cast<double>(spec.sequence) * std::numeric_limits<double>::epsilon()));
  }
}

TEST_CASE("recompute: the scores of residual attention go from group to group") {
  ModelSpec spec;
  spec.width = 16;
  spec.ffn = 24;
  spec.sequence = 6;
  spec.residual_attention = true;
  for (const std::int64_t layers : {1, 3, 6}) {
    for (const Placement placement : {Placement::post, Placement::resi_dual}) {
      CAPTURE(layers);
      spec.layers = layers;
      spec.placement = placement;
      check_same(build_network(spec));
    }
  }
}

TEST_CASE("recompute: sites are measured once, with the same values and gradients") {
  const Network network = deep(Placement::pre, 3);
  PassOptions options{5, 1, "cpu"};
  const PassSamples kept = sample_passes(network, options, 2);
  options.recompute = true;
  const PassSamples again = sample_passes(network, options, 2);
  REQUIRE(kept.sites.size() == again.sites.size());
  for (std::size_t i = 0; i < kept.sites.size(); ++i) {
    CAPTURE(kept.sites[i].path);
    CHECK(kept.sites[i].path == again.sites[i].path);
    CHECK(kept.sites[i].second == again.sites[i].second);
    CHECK(kept.sites[i].grad_second == again.sites[i].grad_second);
  }
}

TEST_CASE("recompute: activations grow as the root of the depth") {
  ModelSpec spec;
  spec.width = 32;
  spec.ffn = 128;
  spec.sequence = 64;
  const auto network = [&](std::int64_t layers) {
    spec.layers = layers;
    return build_network(spec);
  };
  const auto few = static_cast<double>(held(network(16), true));
  const auto many = static_cast<double>(held(network(256), true));
  const auto all = static_cast<double>(held(network(256), false));
  // 16 times the depth: 4 times the memory, and some that does not grow.
  CHECK(many < 4.0 * few);
  CHECK(many < 0.2 * all);
  const Footprint footprint = check(network(256)).footprint;
  const double weights = footprint.parameters;
  // The estimate counts what passes by as if it were kept.
  CHECK((footprint.entries(true) - weights) * sizeof(float) > many);
  CHECK((footprint.entries(true) - weights) * sizeof(float) < 3.0 * many);
}

TEST_CASE("recompute: an input that is the result of a group keeps its gradient") {
  const auto device = tensor::make_device<double>("cpu", 1);
  tensor::Tape<double> tape(device, true);
  const auto w = tape.parameter(0, upload(device, 1, 2, {2.0, 3.0}));
  const auto y = tape.recomputed(
      w, w.value, [](tensor::Tape<double>&, const tensor::Variable<double>& x) { return x; });
  tape.loss(y, [slot = y.slot](tensor::Tape<double>& t, const tensor::Tensor<double>&) {
    t.gradient(slot)[0] = 5.0;
    t.gradient(slot)[1] = 7.0;
  });
  tape.backward([](std::size_t index, const tensor::Tensor<double>& gradient) {
    CHECK(index == 0);
    CHECK(download(gradient) == Vector{5.0, 7.0});
  });
}

}  // namespace scalecalc::passes
