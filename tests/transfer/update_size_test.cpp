#include "transfer/update_size.hpp"

#include <doctest/doctest.h>

#include <Eigen/SVD>
#include <cmath>
#include <functional>
#include <random>

#include "scalecalc/transfer.hpp"

using namespace scalecalc;

namespace {

using Matrix = Eigen::MatrixXd;

struct Measured {
  double entry, frobenius, singular;
};
Measured sizes_of(const Matrix& matrix) {
  const double norm = matrix.norm();
  const Eigen::JacobiSVD<Matrix> svd(matrix);
  return {norm / std::sqrt(static_cast<double>(matrix.size())), norm, svd.singularValues()(0)};
}

Matrix random(std::mt19937_64& draw, Eigen::Index rows, Eigen::Index columns, double size) {
  std::normal_distribution<double> normal(0.0, size);
  return Matrix::NullaryExpr(rows, columns, [&] { return normal(draw); });
}

/// How rows, columns and sizes of g and theta grow from one n to another.
struct Case {
  const char* rule;
  int fan_in, fan_out;         ///< exponents of n
  double gradient, parameter;  ///< exponents of n of an entry
  std::function<Matrix(const Matrix& g, const Matrix& theta)> update;
};

Matrix orthogonal(const Matrix& matrix) {
  const Eigen::JacobiSVD<Matrix> svd(matrix, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return svd.matrixU() * svd.matrixV().transpose();
}

Measured measure(const Case& of, int n) {
  std::mt19937_64 draw(7);
  const auto extent = [&](int power) { return power == 0 ? 3 : n; };
  const Eigen::Index rows = extent(of.fan_in), columns = extent(of.fan_out);
  const Matrix theta = random(draw, rows, columns, std::pow(n, of.parameter));
  const bool full_rank = std::string_view(of.rule).find("orthogonal") != std::string_view::npos;
  const double size = std::pow(n, of.gradient);
  const Matrix g = full_rank ? random(draw, rows, columns, size)
                             : Matrix(random(draw, rows, 1, size) * random(draw, 1, columns, 1));
  return sizes_of(of.update(g, theta));
}

}  // namespace

TEST_CASE("sizes of updates are those of drawn matrices") {
  const auto sign = [](const Matrix& m) { return Matrix(m.array().sign()); };
  const auto rms = [](const Matrix& m) { return m.norm() / std::sqrt(double(m.size())); };
  const auto g_itself = [](const Matrix& g, const Matrix&) { return g; };
  const auto signs = [&](const Matrix& g, const Matrix&) { return sign(g); };
  const auto spectral = [](const Matrix& g, const Matrix&) { return orthogonal(g); };
  const auto relative = [&](const Matrix& g, const Matrix& theta) {
    return Matrix(rms(theta) * sign(g));
  };
  const auto trust = [](const Matrix& g, const Matrix& theta) {
    return Matrix(theta.norm() / g.norm() * g);
  };
  const auto scaled = [](const Matrix& g, const Matrix&) {
    return Matrix(std::sqrt(double(g.cols()) / double(g.rows())) * orthogonal(g));
  };
  const auto roots = [&](const Matrix& g, const Matrix&) {
    return Matrix(g.array().sign() * g.array().abs().sqrt());
  };
  const std::vector<Case> cases = {
      {"g", 1, 1, -0.5, 0, g_itself},
      {"g", 0, 1, -1, 0, g_itself},
      {"sign(g)", 1, 1, -1, 0, signs},
      {"sign(g)", 1, 0, -1, 0, signs},
      {"orthogonal(g)", 1, 1, 0, 0, spectral},
      {"orthogonal(g)", 0, 1, -1, 0, spectral},
      {"orthogonal(g)", 1, 0, -1, 0, spectral},
      {"rms(theta)*sign(g)", 1, 1, -1, -0.5, relative},
      {"norm(theta)*g/norm(g)", 1, 1, -1, -0.5, trust},
      {"norm(theta)*g/norm(g)", 1, 0, -0.5, -0.5, trust},
      {"sqrt(fan_out/fan_in)*orthogonal(g)", 1, 0, 0, 0, scaled},
      {"sqrt(fan_out/fan_in)*orthogonal(g)", 0, 1, 0, 0, scaled},
      {"sign(g)*abs(g)^(1/2)", 1, 1, -1, 0, roots},
  };
  const int small = 40, large = 160;
  // Normal entries: a singular value at most (sqrt(m) + sqrt(n)) that of one entry, whose ratio
  // to its limit is off by O(n^(-1/2)); measured exponents by that over log(4).
  const double tolerance = 2.0 / std::sqrt(double(small)) / std::log(4.0);
  for (const Case& of : cases) {
    CAPTURE(of.rule);
    CAPTURE(of.fan_in);
    const Measured a = measure(of, small), b = measure(of, large);
    const auto slope = [&](double x, double y) { return std::log(y / x) / std::log(4.0); };
    const TransferOptimizer rule = transfer_optimizer(of.rule);
    const UpdateSize size =
        update_size(rule.rule.update, {of.fan_in, of.fan_out, Rational::shortest(of.gradient),
                                       Rational::shortest(of.parameter), 0});
    CHECK(std::abs(slope(a.entry, b.entry) - size.entry.to_double()) < tolerance);
    CHECK(std::abs(slope(a.frobenius, b.frobenius) - size.frobenius.to_double()) < tolerance);
    CHECK(std::abs(slope(a.singular, b.singular) - size.singular.to_double()) < tolerance);
  }
}

TEST_CASE("sizes of preconditioned gradients") {
  // G of rank one, s = |G|: L^-a G R^-b has the singular value s^(1 - 2 a - 2 b).
  std::mt19937_64 draw(3);
  const auto measured = [&](int n) {
    const Matrix u = random(draw, n, 1, 1).normalized(), v = random(draw, n, 1, 1).normalized();
    const double s = std::pow(n, 0.5);
    return sizes_of(std::pow(s, 1 - 2 * 0.25 - 2 * 0.125) * u * v.transpose());
  };
  const Measured a = measured(30), b = measured(120);
  const Rational gradient(-1, 2);  // entry of a matrix of norm n^(1/2)
  const UpdateSize size =
      update_size(transfer_optimizer("shampoo(1/4,1/8)").rule.update, {1, 1, gradient, 0, 0});
  CHECK(size.singular == Rational(1, 8));
  CHECK(std::log(b.singular / a.singular) / std::log(4.0) == doctest::Approx(0.125));
  CHECK(std::log(b.entry / a.entry) / std::log(4.0) == doctest::Approx(size.entry.to_double()));
}

TEST_CASE("powers of updates in gradient and parameter") {
  const auto powers = [](const char* rule) {
    return update_powers(transfer_optimizer(rule).rule.update);
  };
  CHECK(powers("sgd").gradient == Rational(1));
  CHECK(powers("adam").gradient == Rational(0));
  CHECK(powers("muon").gradient == Rational(0));
  CHECK(powers("ngd").gradient == Rational(0));
  CHECK(powers("lamb").parameter == Rational(1));
  CHECK(powers("lars").gradient == Rational(0));
  CHECK(powers("lars").parameter == Rational(1));
  CHECK(powers("shampoo(1/8,1/8)").gradient == Rational(1, 2));
}

TEST_CASE("rules without a size are refused") {
  CHECK_THROWS_AS(transfer_optimizer("exp(g)"), Error);
  CHECK_THROWS_AS(transfer_optimizer("norm(g)"), Error);
  CHECK_THROWS_AS(transfer_optimizer("theta"), Error);
  CHECK_THROWS_AS(transfer_optimizer("g*h"), Error);
  CHECK_THROWS_AS(transfer_optimizer("adamm"), Error);
  CHECK_THROWS_AS(transfer_optimizer("shampoo(1/4)"), Error);
  CHECK_THROWS_AS(transfer_optimizer("shampoo(-1/4,1/4)"), Error);
  CHECK_THROWS_AS(transfer_optimizer("shampoo(3/4,1/2)"), Error);
  CHECK_THROWS_AS(transfer_optimizer("muon", "wide"), Error);
}
