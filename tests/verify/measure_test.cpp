#include "verify/measure.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scalecalc/passes.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

ModelSpec small(Placement placement, std::int64_t layers) {
  ModelSpec spec;
  spec.layers = layers;
  spec.width = 16;
  spec.heads = 2;
  spec.ffn = 32;
  spec.vocab = 11;
  spec.sequence = 7;
  spec.placement = placement;
  return spec;
}

Expr rule(const std::string& text) {
  ParseOptions options;
  options.otherwise = Assumption::real;
  return parse(text, options);
}

Measurement measurement(Quantity quantity, const std::string& update,
                        ParameterSet set = ParameterSet::branch) {
  Measurement one;
  one.quantity = quantity;
  one.update = rule(update);
  one.parameters = set;
  one.seed = 3;
  return one;
}

/// Gradients and parameters of one draw, kept whole: what the measurements stream.
struct Kept {
  std::vector<ParameterInfo> infos;
  std::vector<std::vector<double>> gradients, parameters;

  explicit Kept(const Network& network) {
    Passes<double> passes(network, {3, 1, "cpu"});
    infos = passes.parameters();
    gradients.resize(infos.size());
    passes.backward([&](std::size_t i, MatrixView<double> g) {
      gradients[i].assign(g.data, g.data + g.size());
    });
    for (std::size_t i = 0; i < infos.size(); ++i) {
      const MatrixView<double> theta = passes.parameter(i);
      parameters.emplace_back(theta.data, theta.data + theta.size());
    }
  }

  template <class Term>
  double sum(ParameterSet set, Term term) const {
    double total = 0;
    for (std::size_t i = 0; i < infos.size(); ++i)
      if (counts(infos[i], set))
        for (std::size_t j = 0; j < gradients[i].size(); ++j)
          total += term(gradients[i][j], parameters[i][j]);
    return total;
  }
};

double square(double g, double) {
  return g * g;
}

/// Sums of n rounded terms of one sign, n at most 4,000.
doctest::Approx summed(double value) {
  return rounded(value, 4000);
}

}  // namespace

TEST_CASE("which parameters count") {
  ParameterInfo info;
  info.in_branch = true;
  CHECK(counts(info, ParameterSet::branch));
  info.is_matrix = false;
  CHECK_FALSE(counts(info, ParameterSet::branch));
  CHECK(counts(info, ParameterSet::all));
  info.in_branch = false;
  info.is_matrix = true;
  CHECK_FALSE(counts(info, ParameterSet::branch));
}

TEST_CASE("the power of the global norm is read off the rule") {
  const auto power = [](const std::string& text) { return global_norm_power(rule(text)); };
  CHECK(power("g/global_norm(g)").value() == Rational(-1));
  CHECK(power("2*g*global_norm(g)^(1/2)").value() == Rational(1, 2));
  CHECK(power("norm(theta)*sign(g)*global_norm(g)").value() == Rational(1));
  CHECK_FALSE(power("g").has_value());
  CHECK_FALSE(power("sign(g)").has_value());
  CHECK_FALSE(power("g + g/global_norm(g)").has_value());
  CHECK_FALSE(power("g/(1 + global_norm(g))").has_value());
}

TEST_CASE("sums over the branch set, or over all parameters, agree with kept gradients") {
  ModelSpec spec = small(Placement::post, 3);
  spec.bias = spec.norm_affine = true;
  const Network network = build_network(spec);
  const Kept kept(network);
  for (const ParameterSet set : {ParameterSet::branch, ParameterSet::all}) {
    const double squares = kept.sum(set, square);
    const double absolute = kept.sum(set, [](double g, double) { return std::fabs(g); });
    const auto value = [&](Quantity quantity, const std::string& update) {
      return measure<double>(network, measurement(quantity, update, set));
    };
    CHECK(value(Quantity::delta_loss, "g") == summed(squares));
    CHECK(value(Quantity::delta_loss, "sign(g)") == summed(absolute));
    CHECK(value(Quantity::grad_norm, "g") == summed(std::sqrt(squares)));
    CHECK(value(Quantity::delta_loss, "g/global_norm(g)") == summed(std::sqrt(squares)));
    CHECK(value(Quantity::delta_loss, "g*global_norm(g)^(1/2)") == summed(std::pow(squares, 1.25)));
  }
  CHECK(kept.sum(ParameterSet::all, square) > 1.01 * kept.sum(ParameterSet::branch, square));
}

TEST_CASE("a rule in which the global norm is no factor takes a pass of its own for it") {
  const Network network = build_network(small(Placement::post, 2));
  const double squares = Kept(network).sum(ParameterSet::branch, square);
  const double value =
      measure<double>(network, measurement(Quantity::delta_loss, "g + 3*g/global_norm(g)"));
  CHECK(value == summed(squares + 3 * std::sqrt(squares)));
}

TEST_CASE("update_ratio is the root mean square of |u|/|theta| over the matrices") {
  ModelSpec spec = small(Placement::pre, 2);
  spec.norm_affine = true;
  const Network network = build_network(spec);
  const Kept kept(network);
  for (const ParameterSet set : {ParameterSet::branch, ParameterSet::all}) {
    double total = 0, all_squares = kept.sum(set, square);
    int matrices = 0;
    for (std::size_t i = 0; i < kept.infos.size(); ++i) {
      if (!counts(kept.infos[i], set) || !kept.infos[i].is_matrix) continue;
      double step = 0, size = 0;
      for (std::size_t j = 0; j < kept.gradients[i].size(); ++j) {
        step += kept.gradients[i][j] * kept.gradients[i][j];
        size += kept.parameters[i][j] * kept.parameters[i][j];
      }
      total += step / size;
      ++matrices;
    }
    const double expected = std::sqrt(total / matrices);
    CHECK(measure<double>(network, measurement(Quantity::update_ratio, "g", set)) ==
          summed(expected));
    CHECK(measure<double>(network, measurement(Quantity::update_ratio, "g/global_norm(g)", set)) ==
          summed(expected / std::sqrt(all_squares)));
  }
  // A step of rms(theta) in every entry: the ratio is 1 by definition.
  CHECK(measure<double>(network, measurement(Quantity::update_ratio, "rms(theta)*sign(g)")) ==
        summed(1));
}

TEST_CASE("a real step agrees with its first order, within 2% and far better") {
  for (const Placement placement : {Placement::post, Placement::pre, Placement::res_post,
                                    Placement::sandwich, Placement::sub_ln, Placement::none}) {
    for (const char* update :
         {"g", "sign(g)", "rms(theta)*sign(g)", "orthogonal(g)", "g/global_norm(g)"}) {
      for (const std::int64_t layers : {2, 6}) {
        CAPTURE(to_string(placement));
        CAPTURE(update);
        CAPTURE(layers);
        const Network network = build_network(small(placement, layers));
        const double first = measure<double>(network, measurement(Quantity::delta_loss, update));
        const double actual =
            measure<double>(network, measurement(Quantity::actual_delta_loss, update));
        // Extrapolated from steps that change the loss by 1e-4: (1e-4)^2 times a curvature.
        CHECK(actual == doctest::Approx(first).epsilon(1e-4));
      }
    }
  }
}

TEST_CASE("a real step over all parameters, biases and norms included") {
  ModelSpec spec = small(Placement::post, 3);
  spec.bias = spec.norm_affine = true;
  spec.input.kind = InputKind::tokens;
  const Network network = build_network(spec);
  for (const char* update : {"g", "sign(g)"}) {
    const double first =
        measure<double>(network, measurement(Quantity::delta_loss, update, ParameterSet::all));
    const double actual = measure<double>(
        network, measurement(Quantity::actual_delta_loss, update, ParameterSet::all));
    // Steps that change the loss by 1e-4, as above.
    CHECK(actual == doctest::Approx(first).epsilon(1e-4));
  }
}

TEST_CASE("a given eta is taken as it is") {
  const Network network = build_network(small(Placement::post, 2));
  Measurement one = measurement(Quantity::actual_delta_loss, "g");
  const double first = measure<double>(network, measurement(Quantity::delta_loss, "g"));
  one.eta = 1e-6;
  const double small_step = measure<double>(network, one);
  one.eta = 1e-2;
  const double large_step = measure<double>(network, one);
  // A step of 1e-6 leaves eta times a curvature below 1000, and eps/1e-6 of the loss.
  CHECK(small_step == doctest::Approx(first).epsilon(1e-3));
  CHECK(std::fabs(large_step / first - 1) > 1e-3);  // curvature shows
}

TEST_CASE("single precision agrees with double to its digits") {
  const Network network = build_network(small(Placement::post, 4));
  for (const Quantity quantity :
       {Quantity::delta_loss, Quantity::grad_norm, Quantity::update_ratio, Quantity::probe}) {
    CAPTURE(to_string(quantity));
    const Measurement one = measurement(quantity, "g");
    CHECK(measure<float>(network, one) ==
          within(measure<double>(network, one),
                 rounding<float>(1000) * measure<double>(network, one)));
  }
}

TEST_CASE("losses are compared in double, whatever the precision of the passes") {
  SweepOptions options;
  options.single_precision = true;
  CHECK(in_single_precision(options));
  options.quantity = Quantity::actual_delta_loss;
  CHECK_FALSE(in_single_precision(options));
}

TEST_CASE("the share done rises to 1") {
  for (const char* update : {"g", "g + g/global_norm(g)"}) {
    std::vector<double> shares;
    Measurement one = measurement(Quantity::delta_loss, update);
    one.advance = [&](double share) { shares.push_back(share); };
    measure<double>(build_network(small(Placement::post, 2)), one);
    CHECK(std::is_sorted(shares.begin(), shares.end()));
    CHECK(shares.back() == 1);
  }
}

TEST_CASE("a measurement can be left from its progress report") {
  Measurement one = measurement(Quantity::delta_loss, "g");
  one.advance = [](double share) {
    if (share > 0.5) throw Error(ErrorKind::fault, "interrupted");
  };
  CHECK_THROWS_AS(measure<double>(build_network(small(Placement::post, 2)), one), Error);
}
