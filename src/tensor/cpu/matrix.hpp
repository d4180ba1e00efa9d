#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace scalecalc::tensor {

template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Real>
using MatrixMap = Eigen::Map<Matrix<Real>, Eigen::Unaligned, Eigen::OuterStride<>>;
template <class Real>
using ConstMatrixMap = Eigen::Map<const Matrix<Real>, Eigen::Unaligned, Eigen::OuterStride<>>;
template <class Real>
using RowMap = Eigen::Map<Eigen::Array<Real, 1, Eigen::Dynamic>>;
template <class Real>
using ConstRowMap = Eigen::Map<const Eigen::Array<Real, 1, Eigen::Dynamic>>;

/// `stride` entries from one row to the next; 0 means `columns`.
template <class Real>
MatrixMap<Real> view(Real* data, std::int64_t rows, std::int64_t columns, std::int64_t stride = 0) {
  return {data, rows, columns, Eigen::OuterStride<>(stride == 0 ? columns : stride)};
}
template <class Real>
ConstMatrixMap<Real> view(const Real* data, std::int64_t rows, std::int64_t columns,
                          std::int64_t stride = 0) {
  return {data, rows, columns, Eigen::OuterStride<>(stride == 0 ? columns : stride)};
}

}  // namespace scalecalc::tensor
