#pragma once

#include <cstddef>
#include <functional>
#include <vector>

/// Interpolation at the zeros of Chebyshev polynomials, in one and two variables on [-1, 1].
namespace scalecalc::softmax {

/// Zero k of T_count.
double chebyshev_node(std::size_t k, std::size_t count);

/// sum_ij c_ij T_i(x) T_j(y). One variable: `columns` = 1.
class ChebyshevSurface {
 public:
  ChebyshevSurface() = default;
  /// From values[i * columns + j] at node i of `rows` in x and node j of `columns` in y.
  ChebyshevSurface(std::size_t rows, std::size_t columns, const std::vector<double>& values);
  double operator()(double x, double y = 0.0) const;

 private:
  std::size_t rows_ = 0, columns_ = 0, padded_ = 0;
  std::vector<double> coefficients_;  ///< rows of `padded_`
};

}  // namespace scalecalc::softmax
