#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scalecalc/error.hpp"
#include "scalecalc/transfer.hpp"

using namespace scalecalc;

namespace {

ModelSpec of_size(std::int64_t width, std::int64_t layers) {
  return parse_model(
      "[model]\nkind = \"transformer\"\nplacement = \"pre\"\nheads = 4\nvocab = 100\n"
      "sequence = 8\nnorm_affine = true\nbias = true\nlayers = " +
          std::to_string(layers) + "\nwidth = " + std::to_string(width) +
          "\nffn = " + std::to_string(4 * width) + "\n",
      "test");
}

TransferredNetwork moved(const ModelSpec& base, const ModelSpec& spec,
                         const std::string& parametrization,
                         const std::string& optimizer = "adam") {
  TransferProblem problem;
  problem.optimizer = transfer_optimizer(optimizer);
  problem.parametrization = parametrization_from(parametrization);
  problem.model = transfer_model(spec, problem.axes);
  std::array<double, growth_axes> ratios = {1, 1, 1, 1, 1, 1};
  ratios[0] = static_cast<double>(spec.width) / static_cast<double>(base.width);
  ratios[1] = static_cast<double>(spec.layers) / static_cast<double>(base.layers);
  return transferred_network(base, spec, solve_transfer(problem), ratios);
}

const Attention& attention_of(const Network& network) {
  for (const Layer& layer : network.layers)
    if (const auto* residual = std::get_if<Residual>(&layer.op))
      for (const Layer& inner : residual->body)
        if (const auto* found = std::get_if<Attention>(&inner.op)) return *found;
  throw Error(ErrorKind::fault, "no attention", "test");
}

double branch_of(const Network& network) {
  for (const Layer& layer : network.layers)
    if (const auto* residual = std::get_if<Residual>(&layer.op)) return residual->branch;
  throw Error(ErrorKind::fault, "no branch", "test");
}

const Linear& head_of(const Network& network) {
  return std::get<Linear>(network.layers.back().op);
}

}  // namespace

TEST_CASE("transferred_network: at the base's sizes it is the base") {
  const std::vector<std::pair<const char*, void (*)(ModelSpec&)>> changes = {
      {"none", [](ModelSpec&) {}},
      {"tied head",
       [](ModelSpec& spec) {
         spec.tie_head = true;
         spec.input.kind = InputKind::tokens;
       }},
      {"positions",
       [](ModelSpec& spec) {
         spec.input.kind = InputKind::tokens;
         spec.input.positions = 0.25;
       }},
      {"rezero", [](ModelSpec& spec) { spec.placement = Placement::rezero; }},
      {"ntk", [](ModelSpec& spec) { spec.ntk = true; }},
      {"rmsnorm", [](ModelSpec& spec) { spec.norm = NormKind::rmsnorm; }},
      {"layer scale", [](ModelSpec& spec) { spec.layer_scale = 0.1; }},
      {"class token",
       [](ModelSpec& spec) {
         spec.class_tokens = 1;
         spec.input.class_std = 0.02;
       }},
      {"experts",
       [](ModelSpec& spec) {
         spec.experts = 4;
         spec.top_k = 2;
       }},
      {"two stacks", [](ModelSpec& spec) { spec.encoder_decoder = spec.cross_attention = true; }}};
  for (const auto& [name, change] : changes) {
    CAPTURE(name);
    ModelSpec spec = of_size(32, 2);
    change(spec);
    const std::vector<ParameterInfo> plain = parameters(build_network(spec));
    for (const std::string& parametrization : parametrization_names()) {
      CAPTURE(parametrization);
      const TransferredNetwork same = moved(spec, spec, parametrization);
      const std::vector<ParameterInfo> made = parameters(same.network);
      REQUIRE(made.size() == plain.size());
      CHECK(same.factors.size() == plain.size());
      for (std::size_t i = 0; i < made.size(); ++i) {
        CAPTURE(made[i].path);
        CHECK(made[i].path == plain[i].path);
        CHECK(made[i].std == plain[i].std);
        CHECK(made[i].constant == plain[i].constant);
        const TensorFactors& factors = same.factors.at(made[i].path);
        CHECK(factors.lr == 1);
        CHECK(factors.std == 1);
      }
      CHECK(attention_of(same.network).scale == attention_of(build_network(spec)).scale);
      CHECK(branch_of(same.network) == branch_of(build_network(spec)));
    }
  }
}

TEST_CASE("transferred_network: muP under adam by hand at four times the width") {
  const ModelSpec base = of_size(64, 3), spec = of_size(256, 3);
  const TransferredNetwork made = moved(base, spec, "mup");
  std::map<std::string, ParameterInfo> starts;
  for (const ParameterInfo& info : parameters(build_network(base))) starts[info.path] = info;
  for (const ParameterInfo& info : parameters(made.network)) {
    CAPTURE(info.path);
    const bool is_head = info.role == "head" && info.is_matrix;
    const bool is_hidden = info.is_matrix && !is_head && info.role != "embedding";
    const double std = is_head ? 1.0 / 4 : is_hidden ? 1.0 / 2 : 1;
    CHECK(info.std == doctest::Approx(starts.at(info.path).std * std));
    CHECK(made.factors.at(info.path).lr == doctest::Approx(is_head || is_hidden ? 1.0 / 4 : 1));
  }
  // 1/head_width: the 16 features of a head became 64.
  CHECK(attention_of(made.network).scale == doctest::Approx(1 / std::sqrt(16.0) / 4));
}

TEST_CASE("transferred_network: multipliers are the base's, and those of branches follow depth") {
  ModelSpec base = of_size(64, 2), spec = of_size(128, 8);
  base.ntk = spec.ntk = true;
  const TransferredNetwork made = moved(base, spec, "complete-p");
  CHECK(branch_of(made.network) == doctest::Approx(1.0 / 4));
  // NTK: weights of variance 1 behind 1/sqrt(fan_in); the head's numbers together fall as 1/width.
  CHECK(head_of(made.network).multiplier == doctest::Approx(1.0 / 8));
  CHECK(head_of(made.network).std == doctest::Approx(1.0 / 2));
}

TEST_CASE("transferred_network: a tied head reads the table through a multiplier of its own") {
  ModelSpec base = of_size(64, 2), spec = of_size(256, 2);
  base.input.kind = spec.input.kind = InputKind::tokens;
  base.tie_head = spec.tie_head = true;
  const TransferredNetwork made = moved(base, spec, "mup");
  CHECK(head_of(made.network).multiplier ==
        doctest::Approx(head_of(build_network(base)).multiplier / 4));
  for (const std::string& parametrization : parametrization_names()) {
    CAPTURE(parametrization);
    const TransferredNetwork any = moved(base, spec, parametrization);
    for (const ParameterInfo& info : parameters(any.network))
      if (info.path == "embedding.weight") CHECK(head_of(any.network).std == info.std);
  }
}

TEST_CASE("transferred_network: further layers of a stack start as its hidden ones do") {
  const auto stack = [](std::int64_t width, std::int64_t layers) {
    ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
    spec.features = 10;
    spec.width = width;
    spec.layers = layers;
    return spec;
  };
  const TransferredNetwork made = moved(stack(16, 3), stack(64, 6), "mup");
  std::size_t hidden = 0;
  for (const ParameterInfo& info : parameters(made.network)) {
    CAPTURE(info.path);
    // Of the features 10^(-1/2), kept; of 16 features 16^(-1/2), of 64 half of that; the head 1/4.
    if (info.rows == 10) CHECK(info.std == doctest::Approx(std::sqrt(0.1)));
    if (info.rows == 64 && info.role != "head") {
      CHECK(info.std == doctest::Approx(1.0 / 8));
      ++hidden;
    }
    if (info.role == "head") CHECK(info.std == doctest::Approx(1.0 / 16));
  }
  CHECK(hidden == 5);
}

TEST_CASE("transferred_network: a base without a kind of parameter that the model has") {
  ModelSpec base = of_size(32, 2);
  base.bias = false;
  CHECK_THROWS_AS(moved(base, of_size(64, 2), "mup"), Error);
}

TEST_CASE("transferred_network: gains of norms start at 1") {
  const ModelSpec base = of_size(32, 2), spec = of_size(64, 2);
  TransferProblem problem;
  problem.optimizer = transfer_optimizer("adam");
  problem.parametrization =
      parse_parametrization("base = \"mup\"\n[norm_gain]\nmultiplier = \"r_n^(1/2)\"\n", "file");
  problem.model = transfer_model(spec, problem.axes);
  CHECK_THROWS_AS(transferred_network(base, spec, solve_transfer(problem), {2, 1, 1, 1, 1, 1}),
                  Error);
}
