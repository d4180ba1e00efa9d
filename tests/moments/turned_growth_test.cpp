#include "moments/turned_growth.hpp"

#include <doctest/doctest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <random>

#include "moments/positions.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

constexpr int kTokens = 17;

Attention turned() {
  Attention layer;
  layer.head_width = 64;
  layer.rotary = {64, 10000};
  layer.causal = true;
  return layer;
}

double turn(int distance) {
  double sum = 0;
  for (int i = 0; i < 32; ++i) sum += std::cos(distance * std::pow(10000.0, -2 * i / 64.0)) / 32;
  return sum;
}

/// As averages over t + 1 tokens: near ones are more alike.
PerPosition averages() {
  PerPosition x = spread_over({0, 1, 0.5, 0}, make_positions(kTokens, true), 1);
  for (Eigen::Index t = 0; t < kTokens; ++t)
    for (Eigen::Index u = 0; u < kTokens; ++u)
      x.cross(t, u) = 0.8 * std::sqrt((std::min(t, u) + 1.0) / (std::max(t, u) + 1.0));
  return x;
}

PerPosition scores(double variance, double correlation) {
  return spread_over({0, variance, correlation, 0}, make_positions(kTokens, true), 1);
}

Eigen::MatrixXd gram(const PerPosition& x, bool turns) {
  Eigen::MatrixXd full = x.cross.matrix();
  for (int t = 0; t < kTokens; ++t)
    for (int u = 0; u < kTokens; ++u)
      full(t, u) = (t == u ? x.second[t] : x.cross(t, u)) * (turns ? turn(t - u) : 1);
  return full;
}

/// tr J V J K of the last row, J = diag p - p p^T.
double through(const Eigen::VectorXd& p, const Eigen::MatrixXd& v, const Eigen::MatrixXd& k) {
  const Eigen::MatrixXd j = Eigen::MatrixXd(p.asDiagonal()) - p * p.transpose();
  return (j * v * j * k).trace();
}

}  // namespace

TEST_CASE("keys that are alike and not turned grow as A does") {
  Attention layer = turned();
  layer.rotary = {2, 1e30};
  layer.rotary.theta = {0};
  const PerPosition x = spread_over({0, 1, 0.5, 0}, make_positions(kTokens, true), 1);
  const PerPosition found = turned_growth(layer, x, x, scores(1.5, 0.4));
  for (int t = 0; t < kTokens; ++t) CHECK(found.second[t] == doctest::Approx(1));
  CHECK(found.cross(16, 5) == doctest::Approx(1));
}

// Within three standard errors of the ratio and the square of the first order that is interpolated.
TEST_CASE("values and keys with a structure grow less, as sampled") {
  const PerPosition x = averages();
  const Eigen::MatrixXd centre =
      Eigen::MatrixXd::Identity(kTokens, kTokens).array() - 1.0 / kTokens;
  const Eigen::MatrixXd v = centre * gram(x, false) * centre, k = centre * gram(x, true) * centre;
  const Eigen::MatrixXd unit = k * (kTokens - 1) / k.trace();
  const Eigen::MatrixXd ridge = 1e-12 * Eigen::MatrixXd::Identity(kTokens, kTokens);
  const Eigen::MatrixXd root = Eigen::LLT<Eigen::MatrixXd>(unit + ridge).matrixL();
  const double of_structure = (v * k).trace(), of_alike = kTokens - 1;
  for (const double tau2 : {0.25, 1.0}) {
    constexpr int samples = 20000;
    std::mt19937_64 random(11);
    std::normal_distribution<double> normal;
    double sum = 0, alike = 0, squares = 0;
    Eigen::VectorXd z(kTokens), other(kTokens);
    const auto softmax = [&](const Eigen::VectorXd& s) {
      const Eigen::VectorXd e = (std::sqrt(tau2) * s).array().exp();
      return Eigen::VectorXd(e / e.sum());
    };
    for (int n = 0; n < samples; ++n) {
      for (int t = 0; t < kTokens; ++t) {
        z[t] = normal(random);
        other[t] = normal(random);
      }
      const double one = through(softmax(root * z), v, k) / of_structure;
      const double two = through(softmax(other), centre, centre) / of_alike;
      sum += one;
      alike += two;
      squares += one * one + two * two;
    }
    const double ratio = sum / alike;
    const double error = std::sqrt(squares / samples) / (alike / std::sqrt(samples));
    const double found = turned_growth(turned(), x, x, scores(tau2, 0)).second[kTokens - 1];
    INFO("tau2 ", tau2, " found ", found, " sampled ", ratio, " +- ", error);
    CHECK(ratio < 1 - 3 * error);
    CHECK(std::fabs(found - ratio) < 3 * error + std::pow(1 - ratio, 2));
  }
}

TEST_CASE("some positions say what all of them do") {
  const auto at = [](bool all) {
    PerPosition x = spread_over({0, 1, 0.5, 0}, make_positions(160, all), 1);
    for (Eigen::Index t = 0; t < x.second.size(); ++t)
      for (Eigen::Index u = 0; u < x.second.size(); ++u) {
        const double one = x.positions->at[t] + 1, two = x.positions->at[u] + 1;
        x.cross(t, u) = 0.8 * std::sqrt(std::min(one, two) / std::max(one, two));
      }
    const PerPosition s = spread_over({0, 0.5, 0.3, 0}, x.positions, 1);
    return average(turned_growth(turned(), x, x, s));
  };
  const Alike<double> all = at(true), some = at(false);
  // Steps of an eighth leave 1/64 of what is linear between them.
  CHECK(some.second == doctest::Approx(all.second).epsilon(1.0 / 64));
  CHECK(some.cross == doctest::Approx(all.cross).epsilon(1.0 / 64));
}
