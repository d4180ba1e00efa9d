#pragma once

#include "tensor/cuda/launch.cuh"
#include "tensor/device.hpp"

/// Loops over entries and over rows of entries. Bodies are called once for each index, in no order.
namespace scalecalc::tensor::cuda {

inline std::int64_t pieces(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}
inline unsigned blocks_of(std::int64_t count, std::int64_t size, std::int64_t most = 65535) {
  const std::int64_t blocks = pieces(count, size);
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

template <class Real>
SCALECALC_DEVICE inline void put(const Into<Real>& into, std::int64_t i, Real value) {
  into.data[i] = into(i, value);
}

template <class Body>
SCALECALC_KERNEL entries_kernel(std::int64_t count, Body body) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    body(i);
  }
}

/// body(i) for i in 0 .. count.
template <class Body>
void for_entries(const Queue& queue, const char* operation, std::int64_t count, const Body& body) {
  constexpr unsigned kThreads = 256, kMostBlocks = 16384;
  launch(queue, operation, dim3(blocks_of(count, kThreads, kMostBlocks)), dim3(kThreads),
         entries_kernel<Body>, count, body);
}

template <class Body>
SCALECALC_KERNEL rows_kernel(std::int64_t rows, std::int64_t width, Body body) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= width) return;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.y;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
       row < rows; row += step) {
    body(row, column);
  }
}

/// body(row, column) for each entry of a rows x width matrix, without a division.
template <class Body>
void for_rows(const Queue& queue, const char* operation, std::int64_t rows, std::int64_t width,
              const Body& body) {
  constexpr unsigned kThreads = 256;
  unsigned across = 8;
  while (across < kThreads && across < width) across *= 2;
  const unsigned down = kThreads / across;
  launch(queue, operation, dim3(blocks_of(width, across, INT32_MAX), blocks_of(rows, down)),
         dim3(across, down), rows_kernel<Body>, rows, width, body);
}

}  // namespace scalecalc::tensor::cuda
