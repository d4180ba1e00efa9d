#include "moments/attention_fluctuations.hpp"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <random>

#include "sample.hpp"

namespace scalecalc::moments {
namespace {

constexpr int length = 5, pair_draws = 20000;
/// Features share this much over the tokens of a sequence, and this over sequences.
constexpr double shared_within = 0.4, shared_between = 0.1;

/// Gaussian features of two sequences.
std::array<Eigen::MatrixXd, 2> two_sequences(std::mt19937_64& random, int features) {
  std::normal_distribution<double> normal;
  std::array<Eigen::MatrixXd, 2> made{Eigen::MatrixXd(length, features),
                                      Eigen::MatrixXd(length, features)};
  for (int i = 0; i < features; ++i) {
    const double all = std::sqrt(shared_between) * normal(random);
    for (Eigen::MatrixXd& x : made) {
      const double own = all + std::sqrt(shared_within - shared_between) * normal(random);
      for (int t = 0; t < length; ++t)
        x(t, i) = own + std::sqrt(1 - shared_within) * normal(random);
    }
  }
  return made;
}

/// Of pairs, the average of n r^2 beside the square of its mean.
struct OverlapVariance {
  testing::Sample square, product;
  void add(double r, double features) {
    square.add(features * r * r);
    product.add(std::sqrt(features) * r);
  }
  double value() const { return square.mean() - product.mean() * product.mean(); }
  /// Of `value`, of independent draws.
  double error() const {
    return std::hypot(square.standard_error(), 2 * product.mean() * product.standard_error());
  }
};

TEST_CASE("how far overlaps of means over keys fluctuate") {
  constexpr int features = 12;
  std::mt19937_64 random(11);
  Eigen::MatrixXd weights = Eigen::MatrixXd::Constant(length, length, 1.0 / length);
  weights.row(0) = weights.row(1) = Eigen::RowVectorXd::Zero(length);
  weights(0, 0) = weights(1, 0) = 0.6;
  weights(0, 1) = weights(1, 2) = 0.4;
  OverlapVariance keys, means, of_two, means_of_two;
  for (int draw = 0; draw < pair_draws; ++draw) {
    const auto [x, y] = two_sequences(random, features);
    const Eigen::MatrixXd z = weights * x, w = weights * y;
    keys.add(x.row(0).dot(x.row(1)) / features, features);
    means.add(z.row(0).dot(z.row(1)) / features, features);
    of_two.add(x.row(0).dot(y.row(1)) / features, features);
    means_of_two.add(z.row(0).dot(w.row(1)) / features, features);
  }
  const double apart = 1 - shared_within, square = 0.6 * 0.6 + 0.4 * 0.4, shared = 0.6 * 0.6;
  const Alike<double> of_keys{0, 1, shared_within, shared_between},
      of_means{0, shared_within + apart * square, shared_within + apart * shared, shared_between};
  const MeanKeyVariance share = mean_key_variance(of_keys, of_means);
  // Four standard errors: one run in 16000 by chance.
  const auto close = [](double value, const OverlapVariance& found, const OverlapVariance& over) {
    CHECK(std::fabs(found.value() - value * over.value()) <=
          4 * std::hypot(found.error(), value * over.error()));
  };
  close(share.within, means, keys);
  close(share.between, means_of_two, of_two);
}

}  // namespace
}  // namespace scalecalc::moments
