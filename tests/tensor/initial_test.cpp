#include "tensor/initial.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "scalecalc/tensor.hpp"
#include "support.hpp"

namespace scalecalc::tensor {
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
  const Vector x = download(draw_data(network, 5, make_device<double>("cpu", 1)).features);
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
  const auto device = make_device<double>("cpu", 1);
  const Vector x = download(draw_data(network, 5, device).features);
  for (std::size_t i = 0; i < 6; ++i) CHECK(x[i] == x[6 + i]);
  network.input_cross = network.input_second = 0.0;
  const Vector zero = download(draw_data(network, 5, device).features);
  CHECK(zero == Vector(zero.size(), 0.0));
}

TEST_CASE("targets and ids are in range and follow the seed") {
  NetworkOptions options = rich(1);
  options.sequence = 500;
  const Network network = HandBuilt(options).transformer();
  const auto device = make_device<float>("cpu", 1);
  const auto a = draw_data(network, 1, device), b = draw_data(network, 1, device),
             c = draw_data(network, 2, device);
  CHECK(download(a.ids) == download(b.ids));
  CHECK(download(a.targets) == download(b.targets));
  CHECK(download(a.targets) != download(c.targets));
  CHECK(std::ranges::max(download(a.ids)) == 6.0);
  CHECK(std::ranges::max(download(a.targets)) == 4.0);
  CHECK(std::ranges::min(download(a.targets)) == 0.0);
}

}  // namespace scalecalc::tensor
