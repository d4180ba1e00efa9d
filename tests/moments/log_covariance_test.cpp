#include "moments/log_covariance.hpp"

#include <doctest/doctest.h>

#include <Eigen/Cholesky>

#include <cmath>
#include <random>

/// Covariances of ln sum_t |g_t|^2 and ln |sum_t g_t|^2 beside draws of matrices.
namespace scalecalc::moments {
namespace {

constexpr int tokens = 6, width = 48, draws = 3000;

class Drawn {
 public:
  void add(const Eigen::MatrixXd& g) {
    const Eigen::Vector2d x(std::log(g.squaredNorm()), std::log(g.rowwise().sum().squaredNorm()));
    sum_ += x;
    squares_ += x * x.transpose();
    ++count_;
  }
  Eigen::Matrix2d covariance() const {
    const Eigen::Vector2d mean = sum_ / count_;
    return squares_ / count_ - mean * mean.transpose();
  }

 private:
  Eigen::Vector2d sum_ = Eigen::Vector2d::Zero();
  Eigen::Matrix2d squares_ = Eigen::Matrix2d::Zero();
  double count_ = 0;
};

Eigen::MatrixXd normal(std::mt19937_64& bits, Eigen::Index rows, Eigen::Index columns) {
  std::normal_distribution<double> z;
  return Eigen::MatrixXd::NullaryExpr(rows, columns, [&] { return z(bits); });
}

/// Tokens of exactly the cosine c.
Eigen::MatrixXd alike(double c) {
  Eigen::MatrixXd gram = Eigen::MatrixXd::Constant(tokens, tokens, c);
  gram.diagonal().setOnes();
  Eigen::MatrixXd x = Eigen::MatrixXd::Zero(width, tokens);
  x.topRows(tokens) = Eigen::MatrixXd(gram.llt().matrixL()).transpose() * std::sqrt(width);
  return x;
}

/// First order in 1/width, and the error of a variance over the draws.
void check(const Eigen::Matrix2d& predicted, const Eigen::Matrix2d& drawn) {
  const double allowed = 2.0 / width + 5 * std::sqrt(2.0 / draws);
  for (const auto& [i, j] : {std::pair{0, 0}, std::pair{1, 1}, std::pair{0, 1}})
    CHECK(std::abs(predicted(i, j) - drawn(i, j)) < allowed * std::sqrt(drawn(i, i) * drawn(j, j)));
}

const Counts counts{tokens, 1};

TEST_CASE("a matrix moves the sum of tokens as one vector, the tokens as far as they are alike") {
  std::mt19937_64 bits(1);
  for (const double c : {0.0, 0.4, 0.95}) {
    const Eigen::MatrixXd g = alike(c);
    Drawn drawn;
    for (int k = 0; k < draws; ++k) drawn.add(normal(bits, width, width) * g);
    LogCovariance logs;
    covariance_through_linear(logs, Coherent({0, 1, c, 0}, counts), 2, width);
    check(logs.value, drawn.covariance());
  }
}

TEST_CASE("a skip and a branch that follows it") {
  std::mt19937_64 bits(2);
  for (const double c : {0.0, 0.6}) {
    const Eigen::MatrixXd start = alike(c);
    Drawn drawn;
    for (int k = 0; k < draws; ++k) {
      const Eigen::MatrixXd g = normal(bits, width, width) * start / std::sqrt(width);
      drawn.add(g + normal(bits, width, width) * g / std::sqrt(2.0 * width));
    }
    const Alike<double> left{0, 1, c, 0}, right{0, 0.5, 0.5 * c, 0};
    LogCovariance first;
    covariance_through_linear(first, Coherent(left, counts), 2, width);
    LogCovariance skip = first, branch = first;
    covariance_through_linear(branch, Coherent(left, counts), 2, width);
    check(covariance_of_sum(first, skip, branch, left, right, width, counts).value,
          drawn.covariance());
  }
}

/// g_v,s = sum_t p_ts g_t with all p = 1/T: nothing is left but the sum.
// As the mean of tokens that a norm over them has left.
TEST_CASE("logits of 0 at targets of 0 have no gradient, which does not vary") {
  Network network;
  network.loss = Loss::mse;
  network.target_second = 0;
  network.classes = 8;
  const Alike<double> none{};
  const LogCovariance made = covariance_of_loss(network, none, {}, none, {30, 2});
  CHECK(made.value.allFinite());
  CHECK(made.value(1, 1) == doctest::Approx(2.0 / 8));
}

TEST_CASE("values get the sum of their queries' gradients") {
  LogCovariance logs;
  logs.value << 0.01, 0.02, 0.02, 0.3;
  const double even = 1.0 / tokens;
  const LogCovariance made = covariance_to_keys(logs, {0, 1, 0.1, 0}, {even, even}, counts);
  CHECK(made.value(0, 0) == doctest::Approx(0.3));
  CHECK(made.value(1, 1) == doctest::Approx(0.3));
  const LogCovariance own = covariance_to_keys(logs, {0, 1, 0.1, 0}, {1, 0}, counts);
  CHECK(own.value(0, 0) == doctest::Approx(0.01));
}

TEST_CASE("a weight's gradient fluctuates as the sum does where its inputs are one") {
  LogCovariance logs;
  logs.value << 0.01, 0, 0, 0.3;
  CHECK(variance_of_product(logs, {0, 1, 1, 0}, {0, 1, 0, 0}, counts) == doctest::Approx(0.3));
  CHECK(variance_of_product(logs, {0, 1, 0, 0}, {0, 1, 0, 0}, counts) == doctest::Approx(0.01));
}

}  // namespace
}  // namespace scalecalc::moments
