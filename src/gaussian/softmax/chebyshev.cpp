#include "gaussian/softmax/chebyshev.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/vector_math.hpp"
#include "gaussian/lane_sum.hpp"

namespace scalecalc::softmax {
namespace {

namespace vm = base::vector_math;

constexpr std::size_t kMostNodes = 64;
using Basis = std::array<double, kMostNodes>;

void fill_basis(double x, std::size_t count, double* basis) {
  basis[0] = 1.0;
  if (count > 1) basis[1] = x;
  for (std::size_t k = 2; k < count; ++k) basis[k] = 2.0 * x * basis[k - 1] - basis[k - 2];
}

/// T_i(node k) (2 - [i = 0])/count, the inverse of the interpolation.
std::vector<double> transform(std::size_t count) {
  std::vector<double> matrix(count * count);
  Basis basis{};
  for (std::size_t k = 0; k < count; ++k) {
    fill_basis(chebyshev_node(k, count), count, basis.data());
    for (std::size_t i = 0; i < count; ++i) {
      matrix[i * count + k] = basis[i] * (i == 0 ? 1.0 : 2.0) / static_cast<double>(count);
    }
  }
  return matrix;
}

}  // namespace

double chebyshev_node(std::size_t k, std::size_t count) {
  return std::cos(std::numbers::pi * (static_cast<double>(k) + 0.5) / static_cast<double>(count));
}

ChebyshevSurface::ChebyshevSurface(std::size_t rows, std::size_t columns,
                                   const std::vector<double>& values)
    : rows_(rows),
      columns_(columns),
      padded_((columns + vm::lanes - 1) / vm::lanes * vm::lanes),
      coefficients_(rows * padded_, 0.0) {
  const std::vector<double> left = transform(rows), right = transform(columns);
  std::vector<double> half(rows * columns, 0.0);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t k = 0; k < columns; ++k) {
        half[i * columns + j] += values[i * columns + k] * right[j * columns + k];
      }
    }
  }
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < rows; ++k) {
      for (std::size_t j = 0; j < columns; ++j) {
        coefficients_[i * padded_ + j] += left[i * rows + k] * half[k * columns + j];
      }
    }
  }
}

double ChebyshevSurface::operator()(double x, double y) const {
  std::array<double, kMostNodes> in_x, in_y{};
  fill_basis(x, rows_, in_x.data());
  fill_basis(y, columns_, in_y.data());
  vm::Real sums{};
  for (std::size_t j = 0; j < padded_; j += vm::lanes) {
    vm::Real column{};
    for (std::size_t i = 0; i < rows_; ++i) {
      column += in_x[i] * vm::load(&coefficients_[i * padded_ + j]);
    }
    sums += column * vm::load(&in_y[j]);
  }
  return lane_sum(sums);
}

}  // namespace scalecalc::softmax
