#pragma once

#include <cstdint>
#include <vector>

/// Singular values and what is made of them, on the host and in double. Matrices are row-major; a
/// NaN or infinity gives NaN throughout.
namespace scalecalc::tensor {

/// The largest singular value of a matrix, and its vectors.
struct TopSingular {
  double value = 0.0;
  std::vector<double> left, right;
};
TopSingular top_singular(const double* a, std::int64_t rows, std::int64_t columns);

/// The same value alone, to 1e-9 of it, in some tens of products with the matrix: by the method of
/// Lanczos, from a fixed start.
double largest_singular_value(const double* a, std::int64_t rows, std::int64_t columns);

/// The polar factor U V^T of a = U S V^T over the singular values that are not rounding noise.
void polar_factor(const double* a, std::int64_t rows, std::int64_t columns, double* out);

}  // namespace scalecalc::tensor
