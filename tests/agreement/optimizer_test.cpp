#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "scalecalc/optimizers.hpp"
#include "scalecalc/scaling.hpp"

/// Real steps beside the update rules from which the families' exponents are derived.
namespace scalecalc {
namespace {

using Vector = std::vector<double>;

ModelSpec spec() {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.layers = 2;
  spec.width = 8;
  spec.heads = 2;
  spec.ffn = 16;
  spec.vocab = 6;
  spec.sequence = 4;
  return spec;
}

/// <a, b> / (|a| |b|), and |a| / |b|.
struct Comparison {
  double cosine, ratio;
};
Comparison compare(const Vector& a, const Vector& b) {
  double ab = 0.0, aa = 0.0, bb = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return {ab / std::sqrt(aa * bb), std::sqrt(aa / bb)};
}

/// The first step of each matrix inside a branch, over -eta, beside the rule's.
std::vector<Comparison> first_step(OptimizerOptions options) {
  const Expr rule = optimizer(options.name).update;
  Passes<double> passes(build_network(spec()), {});
  const std::vector<ParameterInfo>& parameters = passes.parameters();
  std::vector<Vector> before(parameters.size()), gradient(parameters.size());
  double square = 0.0;
  passes.backward([&](std::size_t i, MatrixView<double> g) {
    gradient[i] = Vector(g.data, g.data + g.size());
    for (const double x : gradient[i]) square += x * x;
    const MatrixView<double> theta = passes.parameter(i);
    before[i] = Vector(theta.data, theta.data + theta.size());
  });
  Trainer<double>(passes, options).step();
  std::vector<Comparison> result;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].in_branch || !parameters[i].is_matrix) continue;
    const std::int64_t rows = parameters[i].rows, columns = parameters[i].columns;
    Vector step = before[i], expected(step.size());
    const MatrixView<double> after = passes.parameter(i);
    for (std::size_t j = 0; j < step.size(); ++j) {
      step[j] = (step[j] - after.data[j]) / options.learning_rate;
    }
    update_direction<double>(rule, {before[i].data(), rows, columns},
                             {gradient[i].data(), rows, columns}, std::sqrt(square),
                             expected.data());
    result.push_back(compare(step, expected));
  }
  return result;
}

OptimizerOptions plain(const std::string& name) {
  OptimizerOptions options = optimizer_options(name);
  options.weight_decay = 0.0;
  return options;
}

/// theta - (theta - step) loses digits: eps |theta| against a step of at least 1e-6 |theta|; eps of
/// Adam and LAMB is 1e-15 against gradients above 1e-6.
constexpr double kTolerance = 1e-8;

void check_same(const OptimizerOptions& options, double factor) {
  CAPTURE(options.name);
  const std::vector<Comparison> matrices = first_step(options);
  CHECK(matrices.size() == 12);
  for (const Comparison& matrix : matrices) {
    CHECK(matrix.cosine == doctest::Approx(1.0).epsilon(kTolerance));
    CHECK(matrix.ratio == doctest::Approx(factor).epsilon(kTolerance));
  }
}

}  // namespace

TEST_CASE("optimizers: first steps are the rules of the families") {
  check_same(plain("sgd"), 1.0);
  check_same(plain("momentum"), 1.0);
  check_same(plain("nesterov"), 1.9);
  check_same(plain("lion"), 1.0);
  check_same(plain("lars"), 1e-3);
  check_same(plain("ngd"), 1.0);
  for (const char* name : {"adam", "adamw", "lamb", "adagrad", "rmsprop"}) {
    OptimizerOptions options = plain(name);
    options.eps = 1e-15;
    // RMSprop's first average is not corrected: 1/sqrt(1 - 0.99).
    check_same(options, options.name == "rmsprop" ? 10.0 : 1.0);
  }
}

TEST_CASE("optimizers: factored and iterated first steps are near the rules of the families") {
  // The rank-one average keeps rms(u) = 1 up to its clip at 1, and signs. Of Gaussian entries
  // E|u| is sqrt(2/pi) = 0.80.
  for (const Comparison& matrix : first_step(plain("adafactor"))) {
    CHECK(matrix.cosine > 0.6);
    CHECK(matrix.ratio <= 1.0 + kTolerance);
    CHECK(matrix.ratio > 0.6);
  }
  // Five iterations take singular values above 0.01 of the norm to about 0.7 .. 1.2; smaller ones
  // stay below.
  OptimizerOptions muon = plain("muon");
  muon.muon_scale = OptimizerOptions::MuonScale::none;
  for (const Comparison& matrix : first_step(muon)) {
    CHECK(matrix.cosine > 0.9);
    CHECK(matrix.ratio < 1.2);
    CHECK(matrix.ratio > 0.6);
  }
}

TEST_CASE("optimizers: every real optimizer is a member of a family") {
  const std::vector<std::string> members = family_names();
  for (const std::string& name : optimizer_names()) {
    CAPTURE(name);
    CHECK(std::find(members.begin(), members.end(), name) != members.end());
  }
}

}  // namespace scalecalc
