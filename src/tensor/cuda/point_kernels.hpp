#pragma once

#include <cstdint>
#include <memory>

#include "tensor/cuda/plugin.hpp"
#include "tensor/cuda/queue.hpp"

namespace scalecalc::tensor::cuda {

/// Activations without a kernel of their own, compiled for the device by NVRTC when they are first
/// used. NVRTC itself is opened then.
class PointKernels {
 public:
  PointKernels(const Queue& queue, ActivationSource source);
  ~PointKernels();
  PointKernels(const PointKernels&) = delete;
  PointKernels& operator=(const PointKernels&) = delete;

  /// y = phi(x), in double. Throws Error(fault) when NVRTC is not there or fails.
  template <class Real>
  void forward(const Activation& phi, std::int64_t count, const Real* x, Real* y);
  template <class Real>
  void backward(const Activation& phi, std::int64_t count, const Real* x, const Real* dy,
                Into<Real> dx);

 private:
  struct Cache;
  const Queue& queue_;
  ActivationSource source_;
  std::unique_ptr<Cache> cache_;
};

}  // namespace scalecalc::tensor::cuda
