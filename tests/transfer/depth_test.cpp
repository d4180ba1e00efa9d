#include <doctest/doctest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "scalecalc/names.hpp"
#include "scalecalc/transfer.hpp"

using namespace scalecalc;

namespace {

constexpr GrowthAxis width = GrowthAxis::width, depth = GrowthAxis::depth,
                     experts = GrowthAxis::experts;

TransferSolution solved(const TransferModel& model, const char* optimizer,
                        const char* parametrization, const std::vector<GrowthAxis>& axes) {
  TransferProblem problem;
  problem.model = model;
  problem.optimizer = transfer_optimizer(optimizer);
  problem.parametrization = parametrization_from(parametrization);
  problem.axes = axes;
  return solve_transfer(problem);
}

const TensorTransfer& named(const TransferSolution& solution, const std::string& name) {
  for (const TensorTransfer& tensor : solution.tensors)
    if (tensor.tensor.name == name) return tensor;
  throw Error(ErrorKind::fault, "no tensor " + name);
}

bool says(const std::vector<std::string>& lines, const char* what) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(what) != std::string::npos; });
}

/// Paths of each pattern in the network at that depth.
std::map<std::string, int> counts(ModelSpec spec, std::int64_t layers) {
  spec.layers = layers;
  if (!spec.alpha) spec.alpha = Expr(1);
  if (!spec.lambda) spec.lambda = Expr(1);
  std::map<std::string, int> result;
  for (const ParameterInfo& info : parameters(build_network(spec))) {
    ++result[info.path];
    if (path_pattern(info.path) != info.path) ++result[path_pattern(info.path)];
  }
  return result;
}

ModelSpec mixture() {
  ModelSpec spec = find_model("pre-ln-12");
  spec.experts = 8;
  spec.top_k = 2;
  spec.expert_ffn = 32;
  spec.shared_ffn = 32;
  spec.shared_gate = true;
  return spec;
}

}  // namespace

TEST_CASE("what repeats with the depth is what there is more of in a deeper network") {
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    const ModelSpec spec = find_model(preset.name);
    // Whose depth is its list's, and of a condition that transfer has no rule for.
    if (preset.name == "unet-small" || preset.name == "dit-s-2") {
      CHECK_THROWS_AS(transfer_model(spec, {width, depth}), Error);
      continue;
    }
    const std::map<std::string, int> few = counts(spec, 18), more = counts(spec, 36);
    for (const TransferTensor& tensor : transfer_model(spec, {width, depth}).tensors) {
      CAPTURE(tensor.name);
      if (tensor.is_tied) continue;
      const bool grows = few.at(tensor.name) < more.at(tensor.name);
      CHECK(tensor.repeats == grows);
    }
  }
}

TEST_CASE("blocks between stages have rates that know nothing of the depth") {
  for (const char* preset : {"resnet-v1", "resnet-v2"}) {
    const TransferModel model = transfer_model(find_model(preset), {width, depth});
    const TransferSolution solution = solved(model, "adamw", "depth-mup", {width, depth});
    int between = 0, inside = 0;
    for (const TensorTransfer& tensor : solution.tensors) {
      CAPTURE(tensor.tensor.name);
      if (tensor.tensor.name.starts_with("down")) {
        ++between;
        CHECK(tensor.lr[depth] == Rational(0));
      } else if (tensor.tensor.in_branch) {
        ++inside;
        CHECK(tensor.lr[depth] == Rational(-1, 2));
      }
    }
    CHECK(between > 0);
    CHECK(inside > 0);
  }
}

TEST_CASE("a list of a fixed depth has no axis of depth") {
  ModelSpec list = default_spec(ModelSpec::Kind::layers);
  LayerSpec linear, act;
  linear.width = 32;
  act.type = LayerSpec::Type::activation;
  list.layer_list = {linear, act, linear};
  list.layer_list.front().name = "first";
  CHECK_NOTHROW(transfer_model(list, {width}));
  CHECK_THROWS_AS(transfer_model(list, {width, depth}), Error);
}

TEST_CASE("a list whose formulas ask for some depths is laid out at such") {
  ModelSpec list = default_spec(ModelSpec::Kind::layers);
  LayerSpec linear, act, repeat;
  linear.width = 32;
  act.type = LayerSpec::Type::activation;
  repeat.type = LayerSpec::Type::repeat;
  repeat.times = Expr::symbol("N") / Expr(3);
  repeat.layers = {linear, act};
  LayerSpec head = linear;
  head.width = 10;
  list.layer_list = {linear, act, repeat, head};
  list.layers = 300;
  const TransferModel model = transfer_model(list, {width, depth});
  CHECK(std::ranges::count_if(model.tensors, &TransferTensor::repeats) == 1);
}

TEST_CASE("a decoder of fixed depth is no part of r_L, and it is said") {
  ModelSpec two = find_model("deepnet-18-6");
  two.decoder_layers = Expr(6);
  const TransferModel fixed = transfer_model(two, {depth});
  CHECK(says(fixed.remarks, "decoder_layers"));
  const TransferSolution solution = solved(fixed, "adamw", "depth-mup", {depth});
  for (const TensorTransfer& tensor : solution.tensors) {
    CAPTURE(tensor.tensor.name);
    if (tensor.tensor.in_branch && tensor.tensor.is_matrix)
      CHECK(tensor.lr[depth] ==
            (tensor.tensor.name.starts_with("encoder.") ? Rational(-1, 2) : Rational(0)));
  }
  two.decoder_layers = Expr::symbol("N");
  const TransferModel both = transfer_model(two, {depth});
  CHECK_FALSE(says(both.remarks, "decoder_layers"));
  for (const TransferTensor& tensor : both.tensors)
    if (tensor.in_branch) CHECK(tensor.repeats);
}

TEST_CASE("a model's own powers of its depth are named with their exponents") {
  ModelSpec spec = find_model("post-ln-12");
  spec.alpha = pow(Expr(2) * Expr::symbol("N"), Expr(Rational(1, 4)));
  spec.lambda = pow(Expr(8) * Expr::symbol("N"), Expr(Rational(-1, 4)));
  const std::vector<std::string> remarks = transfer_model(spec, {depth}).remarks;
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0].find("branches over the skip r_L^(-1/4)") != std::string::npos);
  CHECK(remarks[0].find("v, o, ffn_in, ffn_out r_L^(-1/4)") != std::string::npos);
  CHECK(says(solved(transfer_model(spec, {depth}), "adam", "mup", {depth}).warnings, "own powers"));
  // Of one depth alone there is nothing to say.
  CHECK(transfer_model(spec, {width}).remarks.empty());
  CHECK(transfer_model(find_model("pre-ln-12"), {depth}).remarks.empty());
}

TEST_CASE("branches that start closed: their factor grows to 1/L, the stream stays") {
  for (const char* placement : {"rezero", "skipinit", "fixup"}) {
    CAPTURE(placement);
    ModelSpec spec = find_model("gpt2");
    spec.placement = placement_from(placement);
    const TransferModel model = transfer_model(spec, {width, depth});
    CHECK(model.starts_closed);
    for (const char* parametrization : {"mup", "standard", "depth-mup", "complete-p"}) {
      CAPTURE(parametrization);
      const TransferSolution adam = solved(model, "adamw", parametrization, {depth});
      const TransferSolution sgd = solved(model, "sgd", parametrization, {depth});
      const Rational closing = Rational(-1) - adam.branch[depth];
      for (std::size_t i = 0; i < adam.tensors.size(); ++i) {
        const TensorTransfer& tensor = adam.tensors[i];
        CAPTURE(tensor.tensor.name);
        CHECK(tensor.lr[depth] == (tensor.tensor.closes_branch ? closing : Rational(0)));
        if (tensor.tensor.in_branch) continue;
        CHECK((*tensor.eps)[depth] == Rational(0));
        CHECK(sgd.tensors[i].lr[depth] == Rational(0));
      }
      // Each order of a branch's change counts: |dW| is as large as W.
      CHECK_FALSE(says(adam.warnings, "first order"));
    }
    // Standard practice keeps the factor's rate: L of them add.
    for (const TensorTransfer& tensor : solved(model, "adamw", "mup", {depth}).tensors)
      CHECK(tensor.standard_excess[depth] ==
            (tensor.tensor.closes_branch ? Rational(1) : Rational(0)));
  }
  // Queries that start at 0 close nothing.
  ModelSpec queries = find_model("pre-ln-12");
  queries.init.gain.emplace("q", Expr(0));
  CHECK_FALSE(transfer_model(queries, {depth}).starts_closed);
}

TEST_CASE("experts: a share 1/E of the gradient, and steps as large at every number of them") {
  const TransferModel model = transfer_model(mixture(), {width, experts});
  const TransferSolution adam = solved(model, "adamw", "mup", {experts}),
                         sgd = solved(model, "sgd", "mup", {experts}),
                         muon = solved(model, "muon", "mup", {experts}),
                         ngd = solved(model, "ngd", "mup", {experts});
  for (std::size_t i = 0; i < adam.tensors.size(); ++i) {
    const TensorTransfer& tensor = adam.tensors[i];
    const std::string& name = tensor.tensor.name;
    CAPTURE(name);
    const bool chosen =
        name.find(".expert[") != std::string::npos || name.find("ffn.router") != std::string::npos;
    const Rational share = chosen ? Rational(-1) : Rational(0);
    CHECK(tensor.gradient[experts] == share);
    CHECK(tensor.lr[experts] == Rational(0));
    CHECK((*tensor.eps)[experts] == share);
    CHECK(sgd.tensors[i].lr[experts] == -share);
    CHECK(muon.tensors[i].lr[experts] == Rational(0));
    // E gradients of size 1/E are E^(-1/2) together, below those of all else.
    CHECK(ngd.tensors[i].lr[experts] == -share);
    CHECK(tensor.multiplier[experts] + tensor.std[experts] == Rational(0));
  }
  ModelSpec all = mixture();
  all.norm_topk_prob = false;
  const TransferModel shares = transfer_model(all, {experts});
  const TransferSolution unnormed = solved(shares, "adamw", "mup", {experts});
  CHECK(named(unnormed, "block[*].ffn.expert[*].in.weight").gradient[experts] == Rational(-2));
  CHECK(says(unnormed.warnings, "norm_topk_prob"));
  CHECK_FALSE(says(adam.warnings, "norm_topk_prob"));
  CHECK_THROWS_AS(transfer_model(find_model("gpt2"), {experts}), Error);
}

namespace {

/// Root mean squares in a mixture of `all` experts y = sum_e W_e x / k over the `chosen` of each
/// token, tokens sharing them out evenly: of the gradient of an expert and of the router, of what
/// leaves it at init, and of how a step by signs changes that.
struct Mixture {
  double expert = 0, router = 0, output = 0, change = 0;
};
Mixture measured(int all, int chosen) {
  constexpr int n = 24;
  const int tokens = 2 * all;
  std::mt19937_64 draw(11);
  std::normal_distribution<double> normal;
  const auto vector = [&] {
    return Eigen::VectorXd(Eigen::VectorXd::NullaryExpr(n, [&] { return normal(draw); }));
  };
  // What tokens have in common: the signal of a gradient.
  const Eigen::VectorXd x = vector(), g = vector();
  std::vector<Eigen::MatrixXd> weights, gradients;
  for (int e = 0; e < all; ++e) {
    weights.push_back(
        Eigen::MatrixXd::NullaryExpr(n, n, [&] { return normal(draw) / std::sqrt(n); }));
    gradients.push_back(Eigen::MatrixXd::Zero(n, n));
  }
  Eigen::MatrixXd router = Eigen::MatrixXd::Zero(n, all);
  Mixture result;
  const double share = 1.0 / chosen;
  for (int t = 0; t < tokens; ++t) {
    Eigen::VectorXd y = Eigen::VectorXd::Zero(n), along = Eigen::VectorXd::Zero(chosen);
    for (int i = 0; i < chosen; ++i) {
      const int e = (t + i) % all;
      y += share * weights[e] * x;
      along(i) = g.dot(weights[e] * x);
      gradients[e] += share * g * x.transpose() / tokens;
    }
    for (int i = 0; i < chosen; ++i)
      router.col((t + i) % all) += share * (along(i) - along.mean()) * x / tokens;
    result.output += y.squaredNorm() / (n * tokens);
  }
  result.output = std::sqrt(result.output);
  result.expert = gradients[0].norm() / n;
  result.router = router.norm() / std::sqrt(double(n) * all);
  // Every token's chosen experts move alike.
  Eigen::VectorXd moved = Eigen::VectorXd::Zero(n);
  for (int i = 0; i < chosen; ++i)
    moved += share * Eigen::MatrixXd(gradients[i].array().sign()) * x / n;
  result.change = moved.norm() / std::sqrt(n);
  return result;
}

}  // namespace

TEST_CASE("a mixture that is summed token by token has these powers of the number of experts") {
  constexpr int few = 16, many = 256;
  const auto slope = [](double a, double b) {
    return std::log(b / a) / std::log(double(many) / few);
  };
  for (const bool top_k_grows : {false, true}) {
    CAPTURE(top_k_grows);
    const Mixture a = measured(few, 4), b = measured(many, top_k_grows ? many / 4 : 4);
    // Draws of 24 directions: the root of 2/24 of a mean square, over log(16).
    const double tolerance = 3 * std::sqrt(2.0 / 24) / std::log(16.0);
    CHECK(slope(a.expert, b.expert) == doctest::Approx(-1));
    CHECK(std::abs(slope(a.router, b.router) + 1) < tolerance);
    CHECK(slope(a.change, b.change) == doctest::Approx(0).epsilon(1e-12));
    CHECK(std::abs(slope(a.output, b.output) - (top_k_grows ? -0.5 : 0)) < tolerance);
  }
}

TEST_CASE("a norm of a mixture's gradient goes as the root of the number of columns") {
  TransferProblem problem;
  problem.model = transfer_model(mixture(), {experts});
  problem.axes = {experts};
  problem.parametrization = parametrization_from("mup");
  const auto router = [&](const char* rule) {
    problem.optimizer = transfer_optimizer(rule);
    return named(solve_transfer(problem), "block[*].ffn.router.weight").lr[experts];
  };
  CHECK(router("g/norm(g)") == Rational(1, 2));
  CHECK(router("g/rms(g)") == Rational(0));
  CHECK(router("sqrt(fan_out/fan_in)*orthogonal(g)") == Rational(-1, 2));
}
