#include "tensor/cuda/point_source.hpp"

namespace scalecalc::tensor::cuda {
namespace {

/// Around the functions of c_source: one kernel for each direction and type.
const char* const kKernels = R"source(
#define KERNELS(Real)                                                                         \
  extern "C" __global__ void forward_##Real(long long count, const Real* x, Real* y) {        \
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;                     \
    if (i < count) y[i] = (Real)phi_value((double)x[i]);                                      \
  }                                                                                           \
  extern "C" __global__ void backward_##Real(long long count, const Real* x, const Real* dy,  \
                                             Real* dx, int adds) {                            \
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;                     \
    if (i >= count) return;                                                                   \
    const Real value = (Real)phi_slope((double)x[i]) * dy[i];                                 \
    dx[i] = adds ? dx[i] + value : value;                                                     \
  }
KERNELS(float)
KERNELS(double)
)source";

}  // namespace

std::string point_source(const Activation& phi, ActivationSource c_source) {
  return c_source(phi, "static __device__") + kKernels;
}

}  // namespace scalecalc::tensor::cuda
