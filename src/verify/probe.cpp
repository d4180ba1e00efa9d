#include <cmath>
#include <vector>

#include "verify/dot.hpp"
#include "verify/measure.hpp"

namespace scalecalc {
namespace {

/// A A^T for the orientation with fewer rows; `rows` and `columns` become its shape.
template <class Real>
std::vector<double> short_side_first(const Real* weights, std::int64_t& rows,
                                     std::int64_t& columns) {
  std::vector<double> matrix(weights, weights + rows * columns);
  if (rows <= columns) return matrix;
  std::vector<double> transposed(matrix.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) transposed[j * rows + i] = matrix[i * columns + j];
  std::swap(rows, columns);
  return transposed;
}

}  // namespace

/// The trace and the Frobenius norm of W W^T are those of W^T W, whichever is smaller.
template <class Real>
double fitted_scale(const Real* weights, std::int64_t rows, std::int64_t columns) {
  const std::vector<double> matrix = short_side_first(weights, rows, columns);
  const auto row = [&](std::int64_t i) { return matrix.data() + i * columns; };
  double trace = 0, squares = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      const double entry = dot(row(i), row(j), columns);
      squares += 2 * entry * entry;
    }
    const double diagonal = dot(row(i), row(i), columns);
    trace += diagonal;
    squares += diagonal * diagonal;
  }
  return std::sqrt(squares / trace);
}
template double fitted_scale<float>(const float*, std::int64_t, std::int64_t);
template double fitted_scale<double>(const double*, std::int64_t, std::int64_t);

}  // namespace scalecalc
