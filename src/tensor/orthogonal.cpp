#include "tensor/orthogonal.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

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

}  // namespace scalecalc::tensor
