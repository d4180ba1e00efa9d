#include "tensor/cuda/queue.hpp"

#include "scalecalc/error.hpp"

namespace scalecalc::tensor::cuda {
namespace {
constexpr std::size_t kResultBytes = 16 * sizeof(double);
}

Queue::Queue(int index) : index_(index) {
  activate("start");
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "start");
  void* results = nullptr;
  const cudaError_t status = cudaMallocHost(&results, kResultBytes);
  if (status != cudaSuccess) {
    cudaStreamDestroy(stream_);
    fail(status, "start");
  }
  results_ = static_cast<double*>(results);
}

Queue::~Queue() {
  cudaSetDevice(index_);
  cudaStreamSynchronize(stream_);
  cudaFreeHost(results_);
  cudaStreamDestroy(stream_);
}

void Queue::fail(cudaError_t status, const char* operation) const {
  throw Error(ErrorKind::fault, std::string(operation) + " failed: " + cudaGetErrorString(status),
              "device " + device() + ", " + operation,
              "run again, or use --device cpu; work asked for before may be what failed");
}

}  // namespace scalecalc::tensor::cuda
