#include "tensor/orthogonal.hpp"

#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/cpu/matrix.hpp"

namespace scalecalc::tensor {

std::vector<double> draw_orthogonal(const Stream& stream, double std, std::int64_t rows,
                                    std::int64_t columns) {
  const std::int64_t tall = std::max(rows, columns), thin = std::min(rows, columns);
  std::vector<double> gaussian(static_cast<std::size_t>(rows * columns));
  fill(Draw{Draw::Kind::normal, 1.0, stream}, 0, rows * columns, gaussian.data());
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(
      Eigen::Map<const Eigen::MatrixXd>(gaussian.data(), tall, thin));
  Eigen::MatrixXd q = qr.householderQ() * Eigen::MatrixXd::Identity(tall, thin);
  // QR is unique only up to signs; with a positive diagonal of R the result is Haar-distributed.
  for (std::int64_t j = 0; j < thin; ++j) {
    if (qr.matrixQR()(j, j) < 0.0) q.col(j) = -q.col(j);
  }
  q *= std * std::sqrt(static_cast<double>(tall));
  std::vector<double> out(gaussian.size());
  auto result = view(out.data(), rows, columns);
  if (rows >= columns) {
    result = q;
  } else {
    result = q.transpose();
  }
  return out;
}

void polar_factor(const double* a, std::int64_t rows, std::int64_t columns, double* out) {
  const auto A = view(a, rows, columns);
  auto result = view(out, rows, columns);
  if (!A.allFinite()) {
    result.setConstant(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const Eigen::BDCSVD<Eigen::MatrixXd> svd(A, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const auto& singular = svd.singularValues();
  // Backward error of the decomposition: max(rows, columns) eps of the largest singular value.
  const double noise = static_cast<double>(std::max(rows, columns)) *
                       std::numeric_limits<double>::epsilon() * singular[0];
  const std::int64_t rank = (singular.array() > noise).count();
  result.noalias() = svd.matrixU().leftCols(rank) * svd.matrixV().leftCols(rank).transpose();
}

}  // namespace scalecalc::tensor
