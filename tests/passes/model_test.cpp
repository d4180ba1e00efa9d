#include "passes/model.hpp"

#include <doctest/doctest.h>

#include <set>

#include "gradient_check.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc::passes {
namespace {

const Placement kPlacements[] = {Placement::post,     Placement::pre,    Placement::res_post,
                                 Placement::sandwich, Placement::sub_ln, Placement::none};

}  // namespace

TEST_CASE("transformers of every placement: gradients against central differences") {
  for (const Placement placement : kPlacements) {
    CAPTURE(static_cast<int>(placement));
    NetworkOptions options;
    options.placement = placement;
    check_gradients(HandBuilt(options).transformer());
    options.norm = NormKind::rmsnorm;
    options.causal = options.bias = options.affine = options.tokens = true;
    options.batch = 2;
    options.blocks = 2;
    options.eps = 0.01;
    options.activation = "tanh";
    options.reduction = Reduction::mean;
    check_gradients(HandBuilt(options).transformer());
  }
}

TEST_CASE("odd sizes and sizes of one: gradients against central differences") {
  NetworkOptions options;
  options.bias = options.affine = true;
  options.activation = "sigmoid";
  options.sequence = 1;
  check_gradients(HandBuilt(options).transformer());
  options.heads = 1;
  options.width = 5;
  options.ffn = 1;
  options.sequence = 4;
  options.classes = 2;
  check_gradients(HandBuilt(options).transformer());
  options.norm = NormKind::none;
  options.width = 1;
  options.affine = false;
  check_gradients(HandBuilt(options).transformer());
}

TEST_CASE("mlps: gradients against central differences") {
  for (const char* activation : {"identity", "gelu", "tanh", "sigmoid"}) {
    NetworkOptions options;
    options.activation = activation;
    options.blocks = 3;
    options.bias = true;
    options.batch = 2;
    check_gradients(HandBuilt(options).mlp());
  }
}

TEST_CASE("norms without normalisation keep their gain and shift") {
  NetworkOptions options;
  options.norm = NormKind::none;
  options.affine = true;
  options.placement = Placement::pre;
  check_gradients(HandBuilt(options).transformer());
}

TEST_CASE("relu and selu networks: a linear map between kinks") {
  // Differences must stay between two kinks, so a smaller step and what it costs in rounding.
  for (const char* activation : {"relu", "selu"}) {
    NetworkOptions options;
    options.activation = activation;
    Passes<double> passes(HandBuilt(options).transformer(), {3, 1, "cpu"});
    const Gradients analytic = gradients(passes);
    for (std::size_t index = 0; index < analytic.of.size(); ++index) {
      CAPTURE(passes.parameters()[index].path);
      // eps/h = 2e-11 of a loss of order 100, beside h^4.
      CHECK(std::fabs(difference(passes, index, 0, 1e-5) - analytic.of[index][0]) <
            1e-7 * (rms(analytic.of[index]) + 1e-3));
    }
  }
}

TEST_CASE("float follows double") {
  for (const Placement placement : kPlacements) {
    NetworkOptions options;
    options.placement = placement;
    options.blocks = 3;
    options.width = 16;
    options.ffn = 40;
    options.sequence = 9;
    const Network network = HandBuilt(options).transformer();
    Passes<double> twice(network, {1, 1, "cpu"});
    Passes<float> single(network, {1, 1, "cpu"});
    const Gradients a = gradients(twice), b = gradients(single);
    // Some 40 operations of relative error about eps follow one another, amplified a few times by
    // the softmax and the norms.
    const double tolerance =
        40.0 * 4.0 * static_cast<double>(std::numeric_limits<float>::epsilon());
    CHECK(std::fabs(a.loss - b.loss) < tolerance * a.loss);
    for (std::size_t i = 0; i < a.of.size(); ++i) {
      CAPTURE(twice.parameters()[i].path);
      CHECK(distance(a.of[i], b.of[i]) < tolerance * norm(a.of[i]));
    }
  }
}

TEST_CASE("the number of threads does not change a bit") {
  NetworkOptions options;
  options.width = 270;
  options.heads = 3;
  options.ffn = 300;
  options.sequence = 65;
  options.batch = 5;
  options.tokens = options.bias = options.affine = true;
  const Network network = HandBuilt(options).transformer();
  Passes<double> one(network, {1, 1, "cpu"}), two(network, {1, 2, "cpu"}),
      three(network, {1, 3, "cpu"});
  const Gradients a = gradients(one), b = gradients(two), c = gradients(three);
  CHECK(a.loss == b.loss);
  CHECK(a.of == b.of);
  CHECK(a.of == c.of);
  Passes<float> one_single(network, {1, 1, "cpu"}), two_single(network, {1, 2, "cpu"});
  CHECK(gradients(one_single).of == gradients(two_single).of);
}

TEST_CASE("a pass is repeatable, and another seed is another draw") {
  const Network network = HandBuilt(NetworkOptions{}).transformer();
  Passes<double> a(network, {7, 1, "cpu"}), b(network, {7, 1, "cpu"}), c(network, {8, 1, "cpu"});
  const Gradients first = gradients(a), again = gradients(a);
  CHECK(first.of == again.of);
  CHECK(first.of == gradients(b).of);
  CHECK(first.of != gradients(c).of);
}

TEST_CASE("the sink gets every parameter once, the head first and the input side last") {
  NetworkOptions options;
  options.tokens = options.bias = options.affine = true;
  options.blocks = 2;
  options.placement = Placement::sub_ln;
  Passes<double> passes(HandBuilt(options).transformer(), {});
  std::vector<std::size_t> order;
  passes.backward([&](std::size_t index, MatrixView<double>) { order.push_back(index); });
  CHECK(order.size() == passes.parameters().size());
  CHECK(std::set<std::size_t>(order.begin(), order.end()).size() == order.size());
  CHECK(passes.parameters()[order.front()].path == "head.weight");
  CHECK(passes.parameters()[order.back()].path == "embedding.weight");
}

TEST_CASE("repeated passes need no more memory, and gradients are not stored") {
  NetworkOptions options;
  options.blocks = 30;
  options.width = 20;
  options.ffn = 40;
  options.placement = Placement::pre;
  const Network network = HandBuilt(options).transformer();
  Model<double> model(std::make_shared<const Plan>(network), 1,
                      tensor::make_device<double>("cpu", 1));
  const std::size_t at_rest = model.device().bytes_in_use();
  const auto weights = static_cast<std::size_t>(parameter_count(network)) * sizeof(double);
  std::size_t held = 0, most = 0;
  for (int i = 0; i < 4; ++i) {
    model.loss();
    model.backward([&](std::size_t, const tensor::Tensor<double>&) {
      most = std::max(most, model.device().bytes_in_use());
    });
    CHECK(model.device().bytes_in_use() == at_rest);
    if (i == 0) held = model.device().bytes_held();
    CHECK(model.device().bytes_held() == held);
  }
  // Weights of 30 blocks of 20 x (80 + 80), activations of 3 tokens: the gradients would double it.
  CHECK(most < weights + weights / 2);
}

TEST_CASE("two thousand residual branches need no deep recursion") {
  NetworkOptions options;
  options.blocks = 1000;
  options.width = 4;
  options.ffn = 4;
  options.alpha = std::sqrt(2000.0);
  Passes<float> passes(HandBuilt(options).transformer(), {1, 1, "cpu"});
  std::size_t calls = 0;
  const double loss = passes.backward([&](std::size_t, MatrixView<float>) { ++calls; });
  CHECK(std::isfinite(loss));
  CHECK(calls == 6001);
}

}  // namespace scalecalc::passes
