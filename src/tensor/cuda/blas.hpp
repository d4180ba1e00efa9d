#pragma once

#include <cstdint>
#include <memory>

#include "tensor/cuda/pool.hpp"

namespace scalecalc::tensor::cuda {

/// c = a b + beta c for `batch` row-major matrices: a (rows, inner), b (inner, columns),
/// c (rows, columns), or the transposes of what is stored. Strides are in entries: from one row of
/// the stored matrix to the next, and from one matrix to the next. Flags are as wide as the rest:
/// products are compared by their bytes.
template <class Real>
struct Product {
  std::int64_t rows, inner, columns;
  const Real* a;
  std::int64_t a_row;
  std::int64_t a_transposed;
  const Real* b;
  std::int64_t b_row;
  std::int64_t b_transposed;
  Real* c;
  std::int64_t c_row;
  std::int64_t adds;
  std::int64_t batch = 1, a_step = 0, b_step = 0, c_step = 0;
};

/// cuBLAS, opened when the first product is asked for. Products are in full precision unless `tf32`
/// allows the 10-bit mantissas of the tensor cores, and the same bits each time.
class Blas {
 public:
  Blas(Pool& pool, bool tf32);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  /// Throws Error(fault) when cuBLAS is not there; what it refuses is thrown when it is sent.
  template <class Real>
  void multiply(const char* operation, const Product<Real>& product);

 private:
  struct Library;
  Pool& pool_;
  bool tf32_;
  std::unique_ptr<Library> library_;
};
extern template void Blas::multiply(const char*, const Product<float>&);
extern template void Blas::multiply(const char*, const Product<double>&);

}  // namespace scalecalc::tensor::cuda
