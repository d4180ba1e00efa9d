#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>
#include <thread>

#include "passes/support.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/passes.hpp"
#include "tolerance.hpp"

namespace scalecalc::passes {
namespace {

using namespace testing;

Network network(Reduction reduction = Reduction::sum) {
  NetworkOptions options;
  options.reduction = reduction;
  options.batch = 2;
  return HandBuilt(options).transformer();
}

}  // namespace

TEST_CASE("passes: a step down the gradient lowers the loss by what the gradient says") {
  Passes<double> passes(network(), {});
  const double eta = 1e-6, before = passes.loss();
  double expected = 0.0;
  std::vector<Vector> steps(passes.parameters().size());
  passes.backward([&](std::size_t index, MatrixView<double> g) {
    steps[index] = Vector(g.data, g.data + g.size());
    expected += dot(steps[index], steps[index]);
  });
  for (std::size_t i = 0; i < steps.size(); ++i) passes.add(i, steps[i].data(), -eta);
  // The second order is eta/2 g^T H g, about eta times the first for a Hessian of order 1 to 100.
  CHECK((before - passes.loss()) / eta == doctest::Approx(expected).epsilon(1e-3));
}

TEST_CASE("passes: the mean is the sum over the tokens divided by their number") {
  Passes<double> sum(network(), {}), mean(network(Reduction::mean), {});
  CHECK(mean.loss() == rounded(sum.loss() / 6.0, 8));
  std::vector<Vector> of_sum(sum.parameters().size());
  sum.backward(
      [&](std::size_t i, MatrixView<double> g) { of_sum[i] = Vector(g.data, g.data + g.size()); });
  mean.backward([&](std::size_t i, MatrixView<double> g) {
    for (std::int64_t j = 0; j < g.size(); ++j) {
      // Entries cancel to 1e-6 of their terms at the worst.
      CHECK(g.data[j] ==
            doctest::Approx(of_sum[i][static_cast<std::size_t>(j)] / 6.0).epsilon(1e-9));
    }
  });
}

TEST_CASE("passes: silent weights give the loss of a uniform guess") {
  Network silent = network();
  std::get<Linear>(silent.layers.back().op).std = 0.0;
  CHECK(Passes<double>(silent, {}).loss() == rounded(6.0 * std::log(5.0), 8));
}

TEST_CASE("passes: bad indices, devices and threads are errors") {
  Passes<double> passes(network(), {});
  CHECK_THROWS_AS(passes.parameter(1000), Error);
  CHECK_THROWS_AS(passes.add(1000, nullptr, 1.0), Error);
  CHECK_THROWS_AS(Passes<double>(network(), {0, 0, "cpu"}), Error);
  CHECK_THROWS_AS(Passes<double>(network(), {0, 1, "tpu"}), Error);
  CHECK(Passes<double>(network(), {0, 1, "auto"}).loss() == passes.loss());
}

TEST_CASE("passes: they survive a sink that throws, and moving") {
  Passes<double> passes(network(), {});
  const double loss = passes.loss();
  CHECK_THROWS_AS(
      passes.backward([](std::size_t, MatrixView<double>) { throw std::runtime_error("stop"); }),
      std::runtime_error);
  Passes<double> moved = std::move(passes);
  CHECK(moved.loss() == loss);
  CHECK(moved.backward([](std::size_t, MatrixView<double>) {}) == loss);
}

TEST_CASE("passes: several on different threads do not disturb each other") {
  const Network described = network();
  Passes<double> alone(described, {1, 1, "cpu"});
  const double expected = alone.loss();
  std::vector<double> losses(4, 0.0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    threads.emplace_back([&, i] {
      Passes<double> passes(described, {1, 1, "cpu"});
      losses[i] = passes.backward([](std::size_t, MatrixView<double>) {});
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(losses == std::vector<double>(4, expected));
}

TEST_CASE("passes: an overflow shows in the loss, it is never hidden") {
  Network broken = network();
  std::get<Linear>(broken.layers.back().op).std = 1e308;
  CHECK_FALSE(std::isfinite(Passes<double>(broken, {}).loss()));
}

TEST_CASE("passes: networks of build_network run") {
  for (const Placement placement : {Placement::post, Placement::pre, Placement::res_post,
                                    Placement::sandwich, Placement::sub_ln, Placement::none}) {
    for (const InputKind input : {InputKind::gaussian, InputKind::tokens}) {
      ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
      spec.layers = 2;
      spec.width = 8;
      spec.ffn = 12;
      spec.vocab = 10;
      spec.sequence = 4;
      spec.bias = spec.norm_affine = true;
      spec.placement = placement;
      spec.input.kind = input;
      Passes<double> passes(build_network(spec), {});
      std::size_t calls = 0;
      const double loss = passes.backward([&](std::size_t, MatrixView<double>) { ++calls; });
      CHECK(calls == passes.parameters().size());
      // Logits of variance about 1: ln V + 1/2 a token, with a spread of about 1 each.
      CHECK(std::fabs(loss / 4.0 - std::log(10.0) - 0.5) < 4.0 * std::sqrt(1.0 / 4.0) + 1.0);
    }
  }
  ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
  spec.layers = 3;
  CHECK(std::isfinite(Passes<float>(build_network(spec), {}).loss()));
}

}  // namespace scalecalc::passes
