#include <doctest/doctest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <random>
#include <vector>

#include "steps/operator_norm.hpp"

using namespace scalecalc;
using namespace scalecalc::steps;

namespace {

using Numbers = Eigen::MatrixXd;

struct Drawn {
  double mean = 0, error = 0;
};
/// |Z' D Z + R|^2 over so many draws.
Drawn drawn_squares(const MatrixLaw& law, int draws) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  const auto matrix = [&](double rows, double columns) {
    Numbers made(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
    for (Eigen::Index i = 0; i < made.size(); ++i) made.data()[i] = normal(random);
    return made;
  };
  double sum = 0, squares = 0;
  for (int i = 0; i < draws; ++i) {
    Numbers made = std::sqrt(law.rest) * matrix(law.fan_out, law.fan_in);
    for (const MatrixLaw::Part& part : law.parts)
      made +=
          std::sqrt(part.square) * matrix(law.fan_out, part.count) * matrix(part.count, law.fan_in);
    const Eigen::SelfAdjointEigenSolver<Numbers> solver(Numbers(made * made.transpose()),
                                                        Eigen::EigenvaluesOnly);
    const double square = solver.eigenvalues().maxCoeff();
    sum += square;
    squares += square * square;
  }
  const double mean = sum / draws;
  return {mean, std::sqrt(std::max(squares / draws - mean * mean, 0.0) / draws)};
}

}  // namespace

TEST_CASE("operator norm: products of Gaussian matrices with noise, against draws") {
  const MatrixLaw laws[] = {
      {96, 64, {}, 1},                                // noise alone
      {64, 96, {{1, 12}}, 0},                         // a product alone
      {64, 96, {{1, 11}, {6, 1}}, 0},                 // one direction apart
      {64, 64, {{0.05, 12}}, 0.4},                    // as of signs
      {96, 64, {{0.02, 30}, {0.3, 2}, {1, 1}}, 0.3},  // all of these
      {64, 64, {{0.0005, 200}, {0.01, 16}, {0, 1}}, 0.2},
  };
  for (const MatrixLaw& law : laws) {
    const Figure said = largest_square(law);
    const Drawn seen = drawn_squares(law, 100);
    INFO("said " << said.value << " +- " << said.truncation << " seen " << seen.mean << " +- "
                 << seen.error);
    // The law of Tracy and Widom at the edge is one of many directions: the next order is the
    // square of its width.
    const double next = said.truncation * said.truncation / said.value;
    CHECK(std::fabs(said.value - seen.mean) <= 2 * next + 4 * seen.error);
  }
}

TEST_CASE("operator norm: closed forms") {
  // Of noise: Johnstone's centre (sqrt n + sqrt m)^2 and scale.
  const double n = 400, m = 100, root = std::sqrt(n) + std::sqrt(m);
  const double scale = root * std::cbrt(1 / std::sqrt(n) + 1 / std::sqrt(m));
  const double tracy_widom = -1.2065335745820;
  constexpr double search = 1e-5;  // of the least by differences
  CHECK(largest_square({n, m, {}, 2}).value ==
        doctest::Approx(2 * (root * root + tracy_widom * scale)).epsilon(search));
  // Of one direction: |z'|^2 |z|^2; with noise (theta^2 + n)(theta^2 + m)/theta^2.
  CHECK(largest_square({n, m, {{3, 1}}, 0}).value == doctest::Approx(3 * n * m));
  const double theta = 3 * n * m;
  CHECK(largest_square({n, m, {{3, 1}}, 1}).value ==
        doctest::Approx((theta + n) * (theta + m) / theta));
  CHECK(largest_square({n, m, {}, 0}).value == 0);
}

TEST_CASE("operator norm: of parameters as they start") {
  ParameterInfo info;
  info.rows = 64;
  info.columns = 16;
  info.std = 0.5;
  info.distribution = Distribution::orthogonal;
  CHECK(norm_of_start(info).value == doctest::Approx(16));
  info.distribution = Distribution::normal;
  CHECK(norm_of_start(info).value == largest_square({64, 16, {}, 0.25}).value);
  info.columns = 1;
  CHECK(norm_of_start(info).value == doctest::Approx(16));
  info.distribution.reset();
  info.constant = 1;
  CHECK(norm_of_start(info).value == doctest::Approx(64));
}

TEST_CASE("operator norm: of changes of vectors, tables and one sample") {
  MatrixUse use{8, 1, {1, 1, 1}, {1, 1, 1}, {{1, 0, 1}}, 1, {1, 1}};
  Update update;
  update.scale = 1;
  OwnChange own;
  own.update_second = 3;
  CHECK(norm_of_change(update, use, own).value == doctest::Approx(24));
  use.fan_out = 4;  // one sample: a matrix of rank one
  CHECK(norm_of_change(update, use, own).value == doctest::Approx(96));
  use.is_table = true;
  CHECK_FALSE(norm_of_change(update, use, own).is_known());
  update.scale = 0;
  own.update_second = 0;
  CHECK(norm_of_change(update, use, own).value == 0);
}
