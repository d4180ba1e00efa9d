#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <tuple>

#include "tensor/cuda/calls.hpp"

namespace scalecalc::tensor::cuda {

/// Everything a device is asked for, in order: one stream of one CUDA device. What is asked for is
/// gathered and sent together, as a graph where it has come before (Replays). Nothing waits but
/// wait().
class Queue {
 public:
  /// Without `graphs` each call is sent by itself and at once. Throws Error(fault).
  explicit Queue(int index, bool graphs = true);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  int index() const { return index_; }
  std::string device() const { return "cuda:" + std::to_string(index_); }
  /// For what goes there by another way; submit() comes first.
  cudaStream_t stream() const { return stream_; }

  template <class... Arguments>
  void kernel(const char* operation, const void* kernel, Extent blocks, Extent threads,
              const std::tuple<Arguments...>& arguments) const {
    pending().add_kernel(operation, kernel, blocks, threads, arguments);
    asked();
  }
  /// What send(self, operation, order) puts on the stream, sooner or later.
  template <class Order>
  void fixed(const char* operation, Send send, void* self, const Order& order) const {
    pending().add_fixed(operation, send, self, order);
    asked();
  }
  /// Sends what has been asked for.
  void submit() const;
  /// What has been asked for and not been sent never will be.
  void forget() const noexcept;
  /// Why nothing is sent as a graph that should have been; else empty.
  std::string why_no_graphs() const;

  /// Makes this the device that calls of this thread go to.
  void activate(const char* operation) const { check(cudaSetDevice(index_), operation); }
  void check(cudaError_t status, const char* operation) const {
    if (status != cudaSuccess) fail(status, operation);
  }
  /// Until everything asked for has been done. What failed since the last wait is thrown here.
  void wait(const char* operation) const;
  /// Sixteen doubles that kernels can write and, after wait(), the host can read.
  double* results() const { return results_; }

 private:
  struct Pending;
  Calls& pending() const;
  /// After each call.
  void asked() const;
  [[noreturn]] void fail(cudaError_t status, const char* operation) const;

  int index_;
  cudaStream_t stream_ = nullptr;
  double* results_ = nullptr;
  std::unique_ptr<Pending> pending_;
};

}  // namespace scalecalc::tensor::cuda
