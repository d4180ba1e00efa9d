#pragma once

#include <string>

#include "tensor/cuda/blas.hpp"
#include "tensor/cuda/plugin.hpp"
#include "tensor/cuda/point_kernels.hpp"
#include "tensor/cuda/pool.hpp"
#include "tensor/cuda/queue.hpp"
#include "tensor/device.hpp"

namespace scalecalc::tensor {

/// Kernels and cuBLAS on one stream of one CUDA device. Nothing waits but host() and what returns
/// a number. Sums have a fixed order, so that the same calls give the same bits. Not thread-safe:
/// one device serves one Passes. Each file that defines members ends in `template class
/// CudaDevice<...>`, which instantiates them.
template <class Real>
class CudaDevice final : public Device<Real> {
 public:
  /// Throws Error(fault).
  CudaDevice(const CudaChoice& choice, ActivationSource source)
      : queue_(choice.index, choice.graphs),
        buffers_(queue_),
        staging_(queue_),
        blas_(buffers_, choice.tf32),
        functions_(queue_, source) {}
  ~CudaDevice() override { queue_.forget(); }

  void* allocate(std::size_t bytes) override { return buffers_.allocate(bytes); }
  void release(void* data, std::size_t bytes) noexcept override { buffers_.release(data, bytes); }
  void upload(const void* host, void* data, std::size_t bytes) override;
  void zero(void* data, std::size_t bytes) override;
  const void* host(const void* data, std::size_t bytes) override {
    return staging_.download(data, bytes);
  }
  std::size_t bytes_in_use() const override { return buffers_.in_use(); }
  std::size_t bytes_held() const override { return buffers_.held(); }
  double bytes_there() const override { return buffers_.there(); }
  void submit() override { queue_.submit(); }
  std::string remark() const override;

  std::string name() const override { return queue_.device(); }
#define SCALECALC_OPERATION(result, name, ...) result name(__VA_ARGS__) override;
#include "tensor/operations.def"

 private:
  cuda::Queue queue_;
  cuda::Pool buffers_;
  cuda::Staging staging_;
  cuda::Blas blas_;
  cuda::PointKernels functions_;
};

}  // namespace scalecalc::tensor
