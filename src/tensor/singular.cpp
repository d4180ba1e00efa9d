#include "tensor/singular.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <limits>

#include "tensor/cpu/matrix.hpp"

namespace scalecalc::tensor {
namespace {

std::vector<double> entries(const Eigen::VectorXd& vector) {
  return {vector.data(), vector.data() + vector.size()};
}

}  // namespace

// From the eigenvectors of A A^T or A^T A, whichever is smaller. Squaring costs the small singular
// values their digits, not the largest.
TopSingular top_singular(const double* a, std::int64_t rows, std::int64_t columns) {
  const auto A = view(a, rows, columns);
  Eigen::VectorXd left = Eigen::VectorXd::Zero(rows), right = Eigen::VectorXd::Zero(columns);
  const double top = A.cwiseAbs().maxCoeff();
  if (!A.allFinite()) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    left.setConstant(none);
    right.setConstant(none);
    return {none, entries(left), entries(right)};
  }
  if (top == 0.0) return {0.0, entries(left), entries(right)};
  const Eigen::MatrixXd scaled = A / top;
  const bool tall = rows >= columns;
  const Eigen::MatrixXd gram = tall ? Eigen::MatrixXd(scaled.transpose() * scaled)
                                    : Eigen::MatrixXd(scaled * scaled.transpose());
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram);
  Eigen::VectorXd& near = tall ? right : left;
  Eigen::VectorXd& far = tall ? left : right;
  near = solver.eigenvectors().col(gram.cols() - 1);
  far = tall ? Eigen::VectorXd(scaled * near) : Eigen::VectorXd(scaled.transpose() * near);
  const double value = far.norm();
  far /= value;
  return {top * value, entries(left), entries(right)};
}

}  // namespace scalecalc::tensor
