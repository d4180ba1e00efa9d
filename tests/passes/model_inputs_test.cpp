#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scalecalc/error.hpp"
#include "scalecalc/passes.hpp"
#include "tolerance.hpp"

namespace scalecalc::passes {
namespace {

using namespace testing;

constexpr std::int64_t kBatch = 2, kSequence = 5, kVocab = 7;

ModelSpec causal_model(double dropout = 0.0) {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.layers = 1;
  spec.width = 8;
  spec.heads = 2;
  spec.ffn = 12;
  spec.vocab = kVocab;
  spec.sequence = kSequence;
  spec.batch = kBatch;
  spec.causal = true;
  spec.input.kind = InputKind::tokens;
  spec.reduction = Reduction::mean;
  spec.dropout = spec.attention_dropout = dropout;
  return spec;
}

TokenBatch batch() {
  return {{0, 1, 2, 3, 4, 6, 5, 4, 3, 2}, {1, 2, 3, 4, 5, 5, 4, 3, 2, 1}};
}

void check_wrong(const TokenBatch& given, const std::string& message) {
  Passes<double> passes(build_network(causal_model()), {});
  const double before = passes.loss();
  try {
    passes.set_batch(given);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.message() == message);
    CHECK_FALSE(error.hint().empty());
  }
  CHECK(passes.loss() == before);
}

}  // namespace

TEST_CASE("batch: the loss is that of these tokens and targets") {
  // Without weights in the branches the logits of a position depend on its own token alone: the
  // order of the positions does not matter as long as pairs of token and target stay together.
  ModelSpec spec = causal_model();
  spec.init.gain = {{"o", 0}, {"ffn_out", 0}};
  Passes<double> passes(build_network(spec), {});
  passes.set_batch(batch());
  const double loss = passes.loss();
  passes.set_batch({{5, 6, 4, 3, 2, 0, 1, 2, 3, 4}, {4, 5, 3, 2, 1, 1, 2, 3, 4, 5}});
  CHECK(passes.loss() == rounded(loss, 64));
  passes.set_batch({{5, 6, 4, 3, 2, 0, 1, 2, 3, 4}, {5, 4, 3, 2, 1, 1, 2, 3, 4, 5}});
  CHECK(passes.loss() != doctest::Approx(loss).epsilon(1e-6));  // far beyond rounding
}

TEST_CASE("batch: under a causal mask a target sees what stands before it") {
  // Of a loss of targets 0 alone, only -log p(0) at each position counts; a later token moves the
  // later positions' share and no earlier one. Two batches that differ in their last token differ
  // by that position's share, which a batch of other sequences shows too.
  Passes<double> passes(build_network(causal_model()), {});
  const auto loss = [&](std::int32_t last, std::int32_t first_target) {
    TokenBatch given = batch();
    given.ids[kSequence - 1] = last;
    given.targets[0] = first_target;
    passes.set_batch(given);
    return passes.loss();
  };
  // The first position's share of the loss does not depend on the last token.
  const double with_four = loss(4, 0) - loss(4, 6), with_one = loss(1, 0) - loss(1, 6);
  CHECK(loss(4, 0) != loss(1, 0));
  CHECK(with_one == doctest::Approx(with_four).epsilon(1e-12));
}

TEST_CASE("batch: what does not fit is refused and changes nothing") {
  TokenBatch given = batch();
  given.ids.pop_back();
  check_wrong(given, "a batch of 9 ids");
  given = batch();
  given.targets.push_back(0);
  check_wrong(given, "a batch of 11 targets");
  given = batch();
  given.ids[3] = static_cast<std::int32_t>(kVocab);
  check_wrong(given, "ids 3 is 7");
  given = batch();
  given.targets[0] = -1;
  check_wrong(given, "targets 0 is -1");
  ModelSpec gaussian = causal_model();
  gaussian.input.kind = InputKind::gaussian;
  Passes<double> passes(build_network(gaussian), {});
  CHECK_THROWS_AS(passes.set_batch(batch()), Error);
}

TEST_CASE("dropout: each step has masks of its own, and evaluation has none") {
  const Network network = build_network(causal_model(0.3));
  Passes<double> passes(network, {}), again(network, {}), plain(build_network(causal_model()), {});
  const double drawn = passes.loss(), without = passes.evaluate();
  CHECK(without == plain.loss());
  CHECK(drawn != without);
  CHECK(passes.loss() == drawn);
  passes.set_mask_step(1);
  const double first = passes.loss();
  passes.set_mask_step(2);
  CHECK(first != drawn);
  CHECK(passes.loss() != first);
  CHECK(passes.evaluate() == without);
  again.set_mask_step(1);
  CHECK(again.loss() == first);
  passes.set_mask_step(0);
  CHECK(passes.loss() == drawn);
}

TEST_CASE("dropout: the gradient goes through the masks of its step, recomputed or not") {
  const Network network = build_network(causal_model(0.3));
  PassOptions options;
  options.recompute = true;
  Passes<double> kept(network, {}), recomputed(network, options);
  std::vector<double> first, second;
  const auto into = [](std::vector<double>& all) {
    return [&all](std::size_t, MatrixView<double> g) {
      all.insert(all.end(), g.data, g.data + g.size());
    };
  };
  kept.set_mask_step(7);
  recomputed.set_mask_step(7);
  CHECK(kept.backward(into(first)) == kept.loss());
  CHECK(recomputed.backward(into(second)) == kept.loss());
  std::ranges::sort(first);
  std::ranges::sort(second);
  CHECK(first == second);
}

TEST_CASE("passes: the same parameters run in a network of other scales") {
  ModelSpec spec = causal_model();
  spec.placement = Placement::branchnorm;
  spec.ramp = 0.25;
  Passes<double> passes(build_network(spec), {});
  spec.ramp = 1.0;
  Passes<double> full(build_network(spec), {});
  CHECK(passes.loss() != full.loss());
  passes.set_network(build_network(spec));
  CHECK(passes.loss() == full.loss());
  spec.ffn = 16;
  CHECK_THROWS_AS(passes.set_network(build_network(spec)), Error);
  spec.ffn = 12;
  spec.batch = 3;
  CHECK_THROWS_AS(passes.set_network(build_network(spec)), Error);
  CHECK(passes.loss() == full.loss());
}

TEST_CASE("passes: parameters that are set are the ones that run") {
  Passes<float> passes(build_network(causal_model()), {}),
      other(build_network(causal_model()), {9, 1, "cpu"});
  for (std::size_t i = 0; i < passes.parameters().size(); ++i) {
    passes.set_parameter(i, other.parameter(i).data);
  }
  passes.set_batch(batch());
  other.set_batch(batch());
  CHECK(passes.loss() == other.loss());
  CHECK_THROWS_AS(passes.set_parameter(1000, nullptr), Error);
}

}  // namespace scalecalc::passes
