#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace scalecalc::tensor::cuda {

/// Everything a device is asked for, in order: one stream of one CUDA device. Nothing waits but
/// wait().
class Queue {
 public:
  /// Throws Error(fault).
  explicit Queue(int index);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  cudaStream_t stream() const { return stream_; }
  int index() const { return index_; }
  std::string device() const { return "cuda:" + std::to_string(index_); }

  /// Makes this the device that calls of this thread go to.
  void activate(const char* operation) const { check(cudaSetDevice(index_), operation); }
  void check(cudaError_t status, const char* operation) const {
    if (status != cudaSuccess) fail(status, operation);
  }
  /// Until everything asked for has been done. What failed since the last wait is thrown here.
  void wait(const char* operation) const { check(cudaStreamSynchronize(stream_), operation); }
  /// Sixteen doubles that kernels can write and, after wait(), the host can read.
  double* results() const { return results_; }

 private:
  [[noreturn]] void fail(cudaError_t status, const char* operation) const;

  int index_;
  cudaStream_t stream_ = nullptr;
  double* results_ = nullptr;
};

}  // namespace scalecalc::tensor::cuda
