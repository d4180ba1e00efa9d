#pragma once

#include <cstdint>
#include <vector>

namespace scalecalc::tensor {

/// The largest singular value of a matrix, and its vectors.
struct TopSingular {
  double value = 0.0;
  std::vector<double> left, right;
};
/// On the host and in double. Row-major; a NaN or infinity gives NaN throughout.
TopSingular top_singular(const double* a, std::int64_t rows, std::int64_t columns);

}  // namespace scalecalc::tensor
