#include "tensor/singular.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/cpu/matrix.hpp"

namespace scalecalc::tensor {
namespace {

std::vector<double> entries(const Eigen::VectorXd& vector) {
  return {vector.data(), vector.data() + vector.size()};
}

/// Turns columns p and q of `b`, and of `v` alike, in their plane so that those of `b` are
/// orthogonal (Hestenes).
void rotate(Eigen::MatrixXd& b, Eigen::MatrixXd& v, Eigen::Index p, Eigen::Index q) {
  const double along = b.col(p).dot(b.col(q));
  if (along == 0.0) return;
  const double zeta = (b.col(q).squaredNorm() - b.col(p).squaredNorm()) / (2.0 * along);
  const double t = std::copysign(1.0 / (std::fabs(zeta) + std::hypot(1.0, zeta)), zeta);
  const double c = 1.0 / std::hypot(1.0, t), s = c * t;
  for (Eigen::MatrixXd* matrix : {&b, &v}) {
    const Eigen::VectorXd first = matrix->col(p);
    matrix->col(p) = c * first - s * matrix->col(q);
    matrix->col(q) = s * first + c * matrix->col(q);
  }
}

/// Turns the first `count` columns of b, and of v alike, by the eigenvectors of b^T b: those of b
/// become orthogonal, in rising order of length, but for the digits that squaring costs. Those that
/// it leaves with less than half of them turn among themselves once more.
void turn(Eigen::MatrixXd& b, Eigen::MatrixXd& v, Eigen::Index count, double noise) {
  if (count == 0) return;
  const double top = b.leftCols(count).colwise().norm().maxCoeff();
  if (top <= noise) return;
  const Eigen::MatrixXd scaled = b.leftCols(count) / top;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(
      Eigen::MatrixXd(scaled.transpose() * scaled));
  for (Eigen::MatrixXd* matrix : {&b, &v}) {
    matrix->leftCols(count) = matrix->leftCols(count) * solver.eigenvectors();
  }
  const double few =
      std::pow(std::numeric_limits<double>::epsilon(), 0.25) * b.col(count - 1).norm();
  Eigen::Index small = 0;
  while (small < count - 1 && b.col(small).norm() < few) ++small;
  turn(b, v, small, noise);
}

/// Makes the nearly orthogonal columns of b orthogonal to rounding. Those no longer than `noise`
/// stay.
void orthogonalise(Eigen::MatrixXd& b, Eigen::MatrixXd& v, double noise) {
  // Rounding of a product of two columns.
  const double rounding = static_cast<double>(b.rows()) * std::numeric_limits<double>::epsilon();
  constexpr int kSweeps = 30;  // each squares what is left: two or three are made
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const Eigen::MatrixXd gram = b.transpose() * b;
    const Eigen::VectorXd length = gram.diagonal().cwiseSqrt();
    bool is_done = true;
    for (Eigen::Index q = 0; q < b.cols(); ++q) {
      for (Eigen::Index p = 0; p < q; ++p) {
        if (std::min(length[p], length[q]) <= noise ||
            std::fabs(gram(p, q)) <= rounding * length[p] * length[q])
          continue;
        rotate(b, v, p, q);
        is_done = false;
      }
    }
    if (is_done) return;
  }
}

/// Of length 1, with a part along every vector that is anything special.
Eigen::VectorXd start_vector(Eigen::Index size) {
  Eigen::VectorXd v(size);
  for (Eigen::Index i = 0; i < size; ++i) v[i] = std::sin(1.0 + static_cast<double>(i) * (i + 1.0));
  return v.normalized();
}

double largest_of_tridiagonal(const std::vector<double>& diagonal,
                              const std::vector<double>& beside) {
  const auto size = static_cast<Eigen::Index>(diagonal.size());
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(Eigen::VectorXd::Map(diagonal.data(), size),
                                Eigen::VectorXd::Map(beside.data(), size - 1),
                                Eigen::EigenvaluesOnly);
  return solver.eigenvalues()[size - 1];
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

// Lanczos on A^T A with every vector made orthogonal to all before it. Its largest Ritz value rises
// to that of the matrix.
double largest_singular_value(const double* a, std::int64_t rows, std::int64_t columns) {
  const auto A = view(a, rows, columns);
  if (!A.allFinite()) return std::numeric_limits<double>::quiet_NaN();
  const double top = A.size() > 0 ? A.cwiseAbs().maxCoeff() : 0.0;
  if (top == 0.0) return 0.0;
  constexpr double accuracy = 1e-10, rounding = 1e-14;
  const Eigen::Index most = std::min(rows, columns) + 1;
  Eigen::VectorXd v = start_vector(columns);
  Eigen::MatrixXd room(columns, std::min<Eigen::Index>(most, 16));
  std::vector<double> diagonal, beside;
  double largest = 0.0;
  for (Eigen::Index size = 1; size <= most; ++size) {
    if (size > room.cols())
      room.conservativeResize(Eigen::NoChange, std::min(most, 2 * room.cols()));
    const auto basis = room.leftCols(size);
    room.col(size - 1) = v;
    const Eigen::VectorXd image = A * v / top;
    v = A.transpose() * image / top;
    diagonal.push_back(image.squaredNorm());
    for (int twice = 0; twice < 2; ++twice) v -= basis * (basis.transpose() * v);
    const double last = largest, length = v.norm();
    largest = largest_of_tridiagonal(diagonal, beside);
    if (length <= rounding * largest || (size > 8 && largest - last <= accuracy * largest)) break;
    beside.push_back(length);
    v /= length;
  }
  return top * std::sqrt(largest);
}

// With A V = U S, whose columns are orthogonal: U V^T = (A V) S^-1 V^T.
void polar_factor(const double* a, std::int64_t rows, std::int64_t columns, double* out) {
  const auto A = view(a, rows, columns);
  auto result = view(out, rows, columns);
  if (!A.allFinite()) {
    result.setConstant(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  result.setZero();
  const double top = A.cwiseAbs().maxCoeff();
  if (top == 0.0) return;
  const bool tall = rows >= columns;
  Eigen::MatrixXd b = A / top;
  if (!tall) b.transposeInPlace();
  Eigen::MatrixXd v = Eigen::MatrixXd::Identity(b.cols(), b.cols());
  // Backward error of the decomposition: max(rows, columns) eps of the largest singular value.
  const double eps = static_cast<double>(b.rows()) * std::numeric_limits<double>::epsilon();
  turn(b, v, b.cols(), eps * b.colwise().norm().maxCoeff());
  const double noise = eps * b.colwise().norm().maxCoeff();
  orthogonalise(b, v, noise);
  for (Eigen::Index i = 0; i < b.cols(); ++i) {
    const double value = b.col(i).norm();
    b.col(i) *= value > noise ? 1.0 / value : 0.0;
  }
  if (tall) {
    result.noalias() = b * v.transpose();
  } else {
    result.noalias() = v * b.transpose();
  }
}

}  // namespace scalecalc::tensor
