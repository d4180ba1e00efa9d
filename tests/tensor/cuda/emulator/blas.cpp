#include "tensor/cuda/blas.hpp"

#include "arena.hpp"
#include "graphs.hpp"
#include "tensor/cuda/blas_library.hpp"

/// In place of cuBLAS: the definition of a product.
namespace scalecalc::tensor::cuda {

namespace {

template <class Real>
void product(const Product<Real>& p) {
  emulator::open();
  for (std::int64_t m = 0; m < p.batch; ++m) {
    const Real *a = p.a + m * p.a_step, *b = p.b + m * p.b_step;
    Real* c = p.c + m * p.c_step;
    for (std::int64_t i = 0; i < p.rows; ++i) {
      for (std::int64_t j = 0; j < p.columns; ++j) {
        Real sum = 0;
        for (std::int64_t k = 0; k < p.inner; ++k) {
          sum += (p.a_transposed ? a[k * p.a_row + i] : a[i * p.a_row + k]) *
                 (p.b_transposed ? b[j * p.b_row + k] : b[k * p.b_row + j]);
        }
        Real& out = c[i * p.c_row + j];
        out = p.adds ? out + sum : sum;
      }
    }
  }
}

template <class Real>
void send(void*, const char*, const void* asked) {
  emulator::perform([p = *static_cast<const Product<Real>*>(asked)] { product(p); });
}

}  // namespace

std::string why_no_blas() {
  return {};
}

struct Blas::Library {};

Blas::Blas(Pool& pool, bool tf32) : pool_(pool), tf32_(tf32) {}
Blas::~Blas() = default;

template <class Real>
void Blas::multiply(const char* operation, const Product<Real>& product) {
  pool_.queue().fixed(operation, &send<Real>, nullptr, product);
}
template void Blas::multiply(const char*, const Product<float>&);
template void Blas::multiply(const char*, const Product<double>&);

}  // namespace scalecalc::tensor::cuda
