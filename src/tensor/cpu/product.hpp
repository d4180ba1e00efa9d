#pragma once

#include "tensor/cpu/maker.hpp"
#include "tensor/cpu/matrix.hpp"

namespace scalecalc::tensor {

/// A row-major matrix as a factor of a product, as it is or transposed.
template <class Real>
struct Factor {
  ConstMatrixMap<Real> entries;
  bool transposed;
};
template <class Expression>
Factor<typename Expression::Scalar> factor(const Expression& matrix) {
  if constexpr (Expression::IsRowMajor) {
    return {view(matrix.data(), matrix.rows(), matrix.cols(), matrix.outerStride()), false};
  } else {
    return {view(matrix.data(), matrix.cols(), matrix.rows(), matrix.outerStride()), true};
  }
}

/// result = scale a b, or added to it; at most one factor is transposed. Compiled once for all
/// operations.
template <class Real>
void multiply(Maker maker, MatrixMap<Real> result, const Factor<Real>& a, const Factor<Real>& b,
              Real scale, bool adds);

/// The same of views, blocks of these and their transposes. The result overlaps no factor.
template <class Result, class A, class B>
void write_product(Maker maker, Result&& result, const A& a, const B& b, bool adds,
                   typename A::Scalar scale = 1) {
  multiply<typename A::Scalar>(
      maker, view(result.data(), result.rows(), result.cols(), result.outerStride()), factor(a),
      factor(b), scale, adds);
}

}  // namespace scalecalc::tensor
