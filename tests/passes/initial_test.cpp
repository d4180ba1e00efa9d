#include "passes/initial.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "networks.hpp"
#include "passes/support.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc::passes {
namespace {

template <class Real>
std::map<std::string, std::vector<Real>> weights(const Network& network, std::uint64_t seed) {
  const Passes<Real> passes(network, {seed, 1, "cpu"});
  std::map<std::string, std::vector<Real>> all;
  for (std::size_t i = 0; i < passes.parameters().size(); ++i) {
    const MatrixView<Real> view = passes.parameter(i);
    CHECK(view.rows == passes.parameters()[i].rows);
    CHECK(view.columns == passes.parameters()[i].columns);
    all[passes.parameters()[i].path] = std::vector<Real>(view.data, view.data + view.size());
  }
  return all;
}

NetworkOptions rich(std::int64_t blocks) {
  NetworkOptions options;
  options.blocks = blocks;
  options.bias = options.affine = options.tokens = true;
  return options;
}

}  // namespace

TEST_CASE("the first layers of a deeper network are the same") {
  const auto shallow = weights<double>(HandBuilt(rich(2)).transformer(), 3);
  const auto deep = weights<double>(HandBuilt(rich(4)).transformer(), 3);
  CHECK(deep.size() > shallow.size());
  for (const auto& [path, values] : shallow) {
    CAPTURE(path);
    CHECK(deep.at(path) == values);
  }
  CHECK(shallow.at("block[0].attn.q.weight") != shallow.at("block[1].attn.q.weight"));
  CHECK(shallow.at("block[0].attn.q.weight") != shallow.at("block[0].attn.k.weight"));
  CHECK(shallow != weights<double>(HandBuilt(rich(2)).transformer(), 4));
}

TEST_CASE("float weights are the rounded double weights, for every distribution") {
  for (const Distribution distribution :
       {Distribution::normal, Distribution::uniform, Distribution::truncated_normal,
        Distribution::orthogonal}) {
    NetworkOptions options = rich(1);
    options.distribution = distribution;
    const Network network = HandBuilt(options).transformer();
    const auto single = weights<float>(network, 1);
    for (const auto& [path, values] : weights<double>(network, 1)) {
      CAPTURE(path);
      CHECK(std::ranges::equal(single.at(path), values, {}, {},
                               [](double x) { return static_cast<float>(x); }));
    }
  }
}

TEST_CASE("parameters have their standard deviation") {
  NetworkOptions options;
  options.width = 60;
  options.ffn = 90;
  options.bias = options.affine = true;
  for (const Distribution distribution :
       {Distribution::normal, Distribution::uniform, Distribution::truncated_normal,
        Distribution::orthogonal}) {
    options.distribution = distribution;
    const Network network = HandBuilt(options).transformer();
    const auto all = weights<double>(network, 2);
    for (const ParameterInfo& info : parameters(network)) {
      const Vector& values = all.at(info.path);
      const double second = dot(values, values) / static_cast<double>(values.size());
      CAPTURE(info.path);
      if (info.path.ends_with(".gain")) CHECK(values == Vector(values.size(), 1.0));
      if (info.path.ends_with(".shift")) CHECK(values == Vector(values.size(), 0.0));
      if (info.role == "norm") continue;
      // Var(x^2) is at most 2 std^4 for these distributions.
      const double error = std::sqrt(2.0 / static_cast<double>(values.size()));
      CHECK(std::fabs(second / (info.std * info.std) - 1.0) < 4.0 * error);
    }
  }
}

TEST_CASE("gaussian input has the asked moments within and between sequences") {
  NetworkOptions options;
  options.width = 20000;
  options.heads = 1;
  options.sequence = 3;
  options.batch = 2;
  Network network = HandBuilt(options).mlp();
  network.input_second = 2.0;
  network.input_cross = 0.7;
  network.features = options.width;
  const Vector x =
      download(draw_data(Plan(network), 5, tensor::make_device<double>("cpu", 1)).features);
  const auto product = [&](std::size_t a, std::size_t b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < 20000; ++i) sum += x[a * 20000 + i] * x[b * 20000 + i];
    return sum / 20000.0;
  };
  for (std::size_t a = 0; a < 6; ++a) {
    for (std::size_t b = a; b < 6; ++b) {
      const double expected = a == b ? 2.0 : a / 3 == b / 3 ? 0.7 : 0.0;
      // Var(xy) = second^2 + cross^2, at most 2 second^2.
      const double error = std::sqrt((4.0 + expected * expected) / 20000.0);
      CHECK(std::fabs(product(a, b) - expected) < 4.5 * error);
    }
  }
}

TEST_CASE("identical tokens and silent input are possible") {
  Network network = HandBuilt(NetworkOptions{}).mlp();
  network.input_cross = network.input_second = 1.0;
  const auto device = tensor::make_device<double>("cpu", 1);
  const Vector x = download(draw_data(Plan(network), 5, device).features);
  for (std::size_t i = 0; i < 6; ++i) CHECK(x[i] == x[6 + i]);
  network.input_cross = network.input_second = 0.0;
  const Vector zero = download(draw_data(Plan(network), 5, device).features);
  CHECK(zero == Vector(zero.size(), 0.0));
}

TEST_CASE("targets and ids are in range and follow the seed") {
  NetworkOptions options = rich(1);
  options.sequence = 500;
  const Network network = HandBuilt(options).transformer();
  const auto device = tensor::make_device<float>("cpu", 1);
  const auto a = draw_data(Plan(network), 1, device), b = draw_data(Plan(network), 1, device),
             c = draw_data(Plan(network), 2, device);
  CHECK(download(a.ids) == download(b.ids));
  CHECK(download(a.targets) == download(b.targets));
  CHECK(download(a.targets) != download(c.targets));
  CHECK(std::ranges::max(download(a.ids)) == 6.0);
  CHECK(std::ranges::max(download(a.targets)) == 4.0);
  CHECK(std::ranges::min(download(a.targets)) == 0.0);
}

TEST_CASE("words come at Zipf's frequencies") {
  Network network = network_of({{Embedding{"embedding", 6, 4, 1.0, 0.0}}}, 4, 30000);
  network.input = InputKind::tokens;
  for (const double zipf : {0.0, 1.0, 2.5}) {
    network.zipf = zipf;
    const Vector ids =
        download(draw_data(Plan(network), 3, tensor::make_device<double>("cpu", 1)).ids);
    double sum = 0.0;
    for (int k = 1; k <= 6; ++k) sum += std::pow(k, -zipf);
    for (int k = 0; k < 6; ++k) {
      const double p = std::pow(k + 1, -zipf) / sum;
      const double share = static_cast<double>(std::ranges::count(ids, k)) / 60000.0;
      CHECK(std::fabs(share - p) < 4.5 * std::sqrt(p * (1.0 - p) / 60000.0));
    }
  }
}

TEST_CASE("the memory has its own moments and width, and is there only where it is used") {
  Attention cross = attention("cross", 4, 2, 2);
  Network network = network_of({{cross}}, 4);
  const auto device = tensor::make_device<double>("cpu", 1);
  CHECK(draw_data(Plan(network), 1, device).memory.empty());
  cross.over_memory = true;
  cross.k = dense("cross.k", 30000, 4);
  cross.v = dense("cross.v", 30000, 4);
  network.layers.front() = {cross};
  network.memory_sequence = 2;
  network.memory_second = 3.0;
  network.memory_cross = 1.0;
  const auto memory = draw_data(Plan(network), 1, device).memory;
  CHECK(memory.rows() == 4);
  const tensor::Moments moments = device->moments({2, 2, 30000}, memory.data());
  // Var(x^2) = 2 second^2 and Var(x y) = second^2 + cross^2 for one pair; pairs share no entry.
  CHECK(std::fabs(moments.second - 3.0) < 4.5 * std::sqrt(2.0 * (9.0 + 1.0) / 120000.0));
  CHECK(std::fabs(moments.cross - 1.0) < 4.5 * std::sqrt(10.0 / 60000.0));
}

TEST_CASE("targets of squared errors are Gaussian, one row for each row of the head") {
  Network network = network_of({{Pool{"pool"}}}, 4, 5, 2000, 3);
  network.loss = Loss::mse;
  network.target_second = 2.0;
  const auto data = draw_data(Plan(network), 1, tensor::make_device<double>("cpu", 1));
  CHECK(data.targets.empty());
  CHECK(data.values.rows() == 2000);
  const Vector values = download(data.values);
  const double second = dot(values, values) / 6000.0;
  CHECK(std::fabs(second - 2.0) < 4.5 * std::sqrt(2.0 * 4.0 / 6000.0));
}

TEST_CASE("every layer's parameters are those that the network lists, in its order") {
  Residual trained =
      residual("block", {{Gated{"act", "silu", dense("gate", 4, 4), dense("in", 4, 4)}}});
  trained.trainable_branch = true;
  trained.branch = 0.25;
  trained.shortcut = {{dense("block.shortcut", 4, 4)}};
  trained.norm = Norm{"block.norm", NormKind::layernorm, 4, 0.0, true};
  Conv2d convolution = conv("conv", 4, 4, 3, 3, 2);
  convolution.padding = 1;
  convolution.weight.bias = true;
  Residual inner = residual("dual.one", {{dense("dual.one.in", 4, 4)}});
  inner.trainable_branch = true;
  const DualStream dual{"dual", {inner}, {"dual.norm", NormKind::rmsnorm, 4, 0.0, true}};
  Network network = network_of({{Embedding{"embedding", 7, 4, 1.0, 0.5}},
                                {trained},
                                {convolution},
                                {dual},
                                {Dropout{"dropout", 0.1}},
                                {Pool{"pool"}}},
                               4, 6);
  network.input = InputKind::tokens;
  const auto all = weights<double>(network, 1);
  CHECK(all.at("block.scale") == Vector{0.25});
  CHECK(all.at("dual.one.scale") == Vector{0.6});
  CHECK(all.at("embedding.position").size() == 24);
  CHECK(all.at("block.norm.gain") == Vector(4, 1.0));
  CHECK(all.at("dual.norm.shift") == Vector(4, 0.0));
  CHECK(all.at("conv.weight").size() == 144);
}

}  // namespace scalecalc::passes
