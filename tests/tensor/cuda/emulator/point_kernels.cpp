#include "tensor/cuda/point_kernels.hpp"

#include "arena.hpp"
#include "scalecalc/activation.hpp"

/// In place of NVRTC: the activation's own evaluation. What NVRTC would compile is tested with the
/// C compiler, in tests/activation/source_test.cpp.
namespace scalecalc::tensor::cuda {

struct PointKernels::Cache {};

PointKernels::PointKernels(const Queue& queue) : queue_(queue) {}
PointKernels::~PointKernels() = default;

template <class Real>
void PointKernels::forward(const Activation& phi, std::int64_t count, const Real* x, Real* y) {
  const emulator::Access access;
  for (std::int64_t i = 0; i < count; ++i) {
    y[i] = static_cast<Real>(phi.value(static_cast<double>(x[i])));
  }
}

template <class Real>
void PointKernels::backward(const Activation& phi, std::int64_t count, const Real* x,
                            const Real* dy, Into<Real> dx) {
  const emulator::Access access;
  for (std::int64_t i = 0; i < count; ++i) {
    const Real value = static_cast<Real>(phi.slope(static_cast<double>(x[i]))) * dy[i];
    dx.data[i] = dx.adds ? dx.data[i] + value : value;
  }
}

template void PointKernels::forward(const Activation&, std::int64_t, const float*, float*);
template void PointKernels::forward(const Activation&, std::int64_t, const double*, double*);
template void PointKernels::backward(const Activation&, std::int64_t, const float*, const float*,
                                     Into<float>);
template void PointKernels::backward(const Activation&, std::int64_t, const double*, const double*,
                                     Into<double>);

}  // namespace scalecalc::tensor::cuda
