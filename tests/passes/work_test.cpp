#include <doctest/doctest.h>

#include "scalecalc/passes.hpp"

namespace scalecalc {
namespace {

constexpr double kOperations = 6;  // an addition and a multiplication, in three products each

double products(const ModelSpec& spec) {
  return pass_work(build_network(spec), 1).operations / kOperations;
}

ModelSpec transformer() {
  ModelSpec spec;
  spec.layers = 3;
  spec.width = 16;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.ffn = 24;
  spec.vocab = 10;
  spec.sequence = 6;
  spec.batch = 2;
  return spec;
}

}  // namespace

TEST_CASE("work: the products of a transformer are those of its matrices and of its scores") {
  const ModelSpec spec = transformer();
  const double tokens = 6 * 2, projections = 16 * 16 + 2 * 16 * 8 + 16 * 16;
  const double scores = 2 * 6 * 16, ffn = 2 * 16 * 24, head = 16 * 10;
  CHECK(products(spec) == tokens * (3 * (projections + scores + ffn) + head));
}

TEST_CASE("work: a convolution has its matrix at each position") {
  const ModelSpec spec = parse_model(R"(
[model]
kind = "layers"
features = 3
sequence = 64
height = 8
classes = 7
[[layer]]
type = "conv2d"
name = "stem"
channels = 5
kernel = 3
stride = 2
padding = 1
[[layer]]
type = "pool"
name = "mean"
)",
                                     "a test");
  CHECK(products(spec) == 16 * 5 * 27 + 5 * 7);
}

TEST_CASE("work: passes, precision and what runs again") {
  const Network network = build_network(transformer());
  const PassWork one = pass_work(network, 1), many = pass_work(network, 8, true, true);
  CHECK(many.operations == doctest::Approx(8 * one.operations * 4 / 3));
  CHECK(many.single_precision);
  CHECK(many.bytes < one.bytes / 2);
}

TEST_CASE("work: what is expected is told once, before the first pass") {
  const Network network = build_network(transformer());
  int told = 0;
  PassOptions options;
  options.expect = [&](const PassWork& work) {
    ++told;
    CHECK(work.operations == pass_work(network, 3).operations);
  };
  sample_passes(network, options, 3, false, [&](double) { return told == 1; });
  CHECK(told == 1);
}

}  // namespace scalecalc
