#include "tensor/cuda/pool.hpp"

#include <algorithm>
#include <functional>
#include <new>

#include "scalecalc/error.hpp"

namespace scalecalc::tensor::cuda {
namespace {

constexpr std::size_t kAlignment = 256;

std::size_t rounded(std::size_t bytes) {
  return bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::string in_mebibytes(std::size_t bytes) {
  constexpr std::size_t kMebi = std::size_t{1} << 20;
  return std::to_string(bytes / kMebi + (bytes % kMebi != 0 ? 1 : 0)) + " MiB";
}

}  // namespace

Pool::~Pool() {
  cudaSetDevice(queue_.index());
  trim();
}

void Pool::trim() noexcept {
  cudaStreamSynchronize(queue_.stream());
  for (auto& [bytes, buffers] : free_) {
    for (void* buffer : buffers) {
      cudaFree(buffer);
      held_ -= bytes;
    }
    buffers.clear();
  }
}

double Pool::there() const {
  std::size_t free = 0, total = 0;
  queue_.activate("allocate");
  queue_.check(cudaMemGetInfo(&free, &total), "allocate");
  return static_cast<double>(free) + static_cast<double>(held_);
}

void Pool::fail(std::size_t bytes) const {
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  throw Error(ErrorKind::fault,
              "out of memory: " + in_mebibytes(bytes) + " asked for, " + in_mebibytes(free) +
                  " of " + in_mebibytes(total) + " free, " + in_mebibytes(in_use_) +
                  " in use by these passes",
              "device " + queue_.device() + ", allocate",
              "use fewer layers, a smaller batch or width, --recompute, or --device cpu");
}

void* Pool::allocate(std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  std::vector<void*>& buffers = free_[size];
  void* data = nullptr;
  if (!buffers.empty()) {
    std::ranges::pop_heap(buffers, std::greater<void*>());
    data = buffers.back();
    buffers.pop_back();
  } else {
    queue_.activate("allocate");
    cudaError_t status = cudaMalloc(&data, size);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      queue_.submit();
      trim();
      status = cudaMalloc(&data, size);
    }
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      fail(bytes);
    }
    queue_.check(status, "allocate");
    held_ += size;
  }
  in_use_ += bytes;
  return data;
}

void Pool::release(void* data, std::size_t bytes) noexcept {
  in_use_ -= bytes;
  try {
    std::vector<void*>& buffers = free_[rounded(bytes)];
    buffers.push_back(data);
    std::ranges::push_heap(buffers, std::greater<void*>());
  } catch (const std::bad_alloc&) {
    held_ -= rounded(bytes);
    cudaFree(data);
  }
}

Staging::~Staging() {
  if (buffer_ != nullptr) cudaFreeHost(buffer_);
}

const void* Staging::download(const void* data, std::size_t bytes) {
  queue_.activate("download");
  if (bytes > bytes_) {
    if (buffer_ != nullptr) cudaFreeHost(buffer_);
    buffer_ = nullptr;
    bytes_ = 0;
    queue_.check(cudaMallocHost(&buffer_, bytes), "download");
    bytes_ = bytes;
  }
  if (bytes > 0) {
    queue_.submit();
    queue_.check(cudaMemcpyAsync(buffer_, data, bytes, cudaMemcpyDeviceToHost, queue_.stream()),
                 "download");
  }
  queue_.wait("download");
  return buffer_;
}

}  // namespace scalecalc::tensor::cuda
