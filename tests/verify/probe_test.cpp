#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "scalecalc/passes.hpp"
#include "tolerance.hpp"
#include "verify/measure.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

std::vector<double> gaussian(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> matrix(static_cast<std::size_t>(rows * columns));
  for (double& entry : matrix) entry = normal(generator);
  return matrix;
}

/// lambda^2 from the definition, with W W^T written out.
double by_definition(const std::vector<double>& w, std::int64_t rows, std::int64_t columns) {
  double squares = 0, trace = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < rows; ++j) {
      double entry = 0;
      for (std::int64_t k = 0; k < columns; ++k) entry += w[i * columns + k] * w[j * columns + k];
      squares += entry * entry;
      if (i == j) trace += entry;
    }
  return std::sqrt(squares / trace);
}

}  // namespace

TEST_CASE("the scale of an orthogonal matrix is its factor") {
  const double c = std::cos(0.3), s = std::sin(0.3);
  const std::vector<double> rotation = {2.5 * c, -2.5 * s, 2.5 * s, 2.5 * c};
  CHECK(fitted_scale(rotation.data(), 2, 2) == rounded(2.5, 8));
  const std::vector<double> wide = {0, -3, 0, 3, 0, 0};  // orthogonal rows
  CHECK(fitted_scale(wide.data(), 2, 3) == rounded(3, 8));
  CHECK(fitted_scale(wide.data(), 1, 1) != doctest::Approx(3));
}

TEST_CASE("either side of any matrix gives the scale of the definition") {
  const std::int64_t shapes[][2] = {{1, 1}, {1, 9}, {9, 1}, {5, 7}, {7, 5}, {16, 16}, {17, 33}};
  for (const auto& shape : shapes) {
    const std::vector<double> w = gaussian(shape[0], shape[1], 5);
    CHECK(fitted_scale(w.data(), shape[0], shape[1]) ==
          rounded(by_definition(w, shape[0], shape[1]), 512));
  }
}

TEST_CASE("the scale fits W W^T to a multiple of the identity, weighted as the definition says") {
  // W = diag(1, 2): |W W^T|^2 = 17, tr = 5.
  const std::vector<double> diagonal = {1, 0, 0, 2};
  CHECK(fitted_scale(diagonal.data(), 2, 2) == rounded(std::sqrt(17.0 / 5), 8));
}

TEST_CASE("with orthogonal weights the probe is the slope of the loss along each matrix' scale") {
  ModelSpec spec;
  spec.layers = 2;
  spec.width = 8;
  spec.heads = 2;
  spec.ffn = 8;
  spec.vocab = 5;
  spec.sequence = 6;
  spec.init.distribution = Distribution::orthogonal;
  const Network network = build_network(spec);
  Measurement one;
  one.quantity = Quantity::probe;
  one.seed = 9;
  const double probe = measure<double>(network, one);

  // W = lambda U exactly, so dL/dlambda is a central difference along W/lambda, lambda =
  // |W|/sqrt(8).
  Passes<double> passes(network, {9, 1, "cpu"});
  double squares = 0;
  int matrices = 0;
  for (std::size_t i = 0; i < passes.parameters().size(); ++i) {
    if (!passes.parameters()[i].in_branch) continue;
    const MatrixView<double> w = passes.parameter(i);
    double norm = 0;
    for (std::int64_t j = 0; j < w.size(); ++j) norm += w.data[j] * w.data[j];
    std::vector<double> u(w.data, w.data + w.size());
    for (double& entry : u) entry /= std::sqrt(norm / 8);
    const double h = 1e-5;
    passes.add(i, u.data(), h);
    const double above = passes.loss();
    passes.add(i, u.data(), -2 * h);
    const double below = passes.loss();
    passes.add(i, u.data(), h);
    squares += std::pow((above - below) / (2 * h), 2);
    ++matrices;
  }
  // Central differences: h^2 = 1e-10 and rounding 1e-15/h = 1e-10 of the loss, beside slopes of 1.
  CHECK(probe == doctest::Approx(std::sqrt(squares / matrices)).epsilon(1e-7));
}
