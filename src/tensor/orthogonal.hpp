#pragma once

#include <cstdint>
#include <vector>

#include "tensor/draw.hpp"

/// Orthogonal matrices, on the host and in double.
namespace scalecalc::tensor {

/// A Haar-random matrix with orthonormal columns (rows, when there are fewer of them), scaled so
/// that the mean square of its entries is std^2. Row-major.
std::vector<double> draw_orthogonal(const Stream& stream, double std, std::int64_t rows,
                                    std::int64_t columns);

}  // namespace scalecalc::tensor
