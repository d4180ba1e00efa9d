#include "tensor/cpu/product.hpp"

#include <algorithm>
#include <type_traits>

#include "tensor/cpu/one_dnn.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/cpu/scratch.hpp"

namespace scalecalc::tensor {
namespace {

/// Multiplications from which oneDNN is the faster one, where no side is too narrow for its
/// kernels.
constexpr std::int64_t kWorth = 1 << 16, kNarrow = 16;

/// Rows of a transposed factor that are packed at a time.
constexpr std::int64_t kPacked = 1024;

/// Entries from one packed row to the next. oneDNN reads a transposed factor along its rows in
/// memory, which strides of a power of two put into few sets of the cache: half the speed, and no
/// loss where the strides are others.
std::int64_t packed_stride(std::int64_t columns) {
  return pieces(columns, 32) * 32 + 16;
}

void by_one_dnn(MatrixMap<float> result, const Factor<float>& a, const Factor<float>& b,
                float scale, bool adds) {
  FloatProduct product{result.rows(),
                       result.cols(),
                       0,
                       scale,
                       adds,
                       a.entries.data(),
                       a.entries.outerStride(),
                       a.transposed,
                       b.entries.data(),
                       b.entries.outerStride(),
                       b.transposed,
                       result.data(),
                       result.outerStride()};
  if (!a.transposed) {
    product.depth = a.entries.cols();
    return OneDnn::here().multiply(product);
  }
  const std::int64_t depth = a.entries.rows(), stride = packed_stride(product.rows);
  float* packed = scratch<float, FloatProduct>(std::min(kPacked, depth) * stride);
  product.a = packed;
  product.a_stride = stride;
  for (std::int64_t first = 0; first < depth; first += kPacked) {
    product.depth = std::min(kPacked, depth - first);
    for (std::int64_t k = 0; k < product.depth; ++k) {
      const float* row = a.entries.data() + (first + k) * a.entries.outerStride();
      std::copy(row, row + product.rows, packed + k * stride);
    }
    OneDnn::here().multiply(product);
    product.b += product.depth * product.b_stride;
    product.adds = true;
  }
}

}  // namespace

template <class Real>
Maker faster_maker(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  if (std::is_same_v<Real, double> || rows < kNarrow || columns < kNarrow ||
      rows * columns * depth < kWorth) {
    return Maker::eigen;
  }
  return OneDnn::here().available() ? Maker::one_dnn : Maker::eigen;
}
template Maker faster_maker<float>(std::int64_t, std::int64_t, std::int64_t);
template Maker faster_maker<double>(std::int64_t, std::int64_t, std::int64_t);

template <class Real>
void multiply(Maker maker, MatrixMap<Real> result, const Factor<Real>& a, const Factor<Real>& b,
              Real scale, bool adds) {
  if constexpr (std::is_same_v<Real, float>) {
    if (maker == Maker::one_dnn) return by_one_dnn(result, a, b, scale, adds);
  }
  if (!adds) result.setZero();
  if (a.transposed) {
    result.noalias() += scale * a.entries.transpose() * b.entries;
  } else if (b.transposed) {
    result.noalias() += scale * a.entries * b.entries.transpose();
  } else {
    result.noalias() += scale * a.entries * b.entries;
  }
}

template void multiply(Maker, MatrixMap<float>, const Factor<float>&, const Factor<float>&, float,
                       bool);
template void multiply(Maker, MatrixMap<double>, const Factor<double>&, const Factor<double>&,
                       double, bool);

}  // namespace scalecalc::tensor
