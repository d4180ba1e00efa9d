#pragma once

#include "tensor/cuda/launch.cuh"

/// Sums over the threads of a block of 32 to 1024 threads in one dimension, a multiple of 32. The
/// order is fixed, and every thread gets the result.
namespace scalecalc::tensor::cuda {

constexpr unsigned kWarp = 32;
constexpr unsigned kAllLanes = 0xFFFFFFFFu;

template <class Value, int Count>
SCALECALC_DEVICE inline void block_sums(Value (&values)[Count]) {
  __shared__ Value parts[Count][kWarp];
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  __syncthreads();  // what an earlier call left in `parts` has been read
  for (int k = 0; k < Count; ++k) {
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
      values[k] += __shfl_xor_sync(kAllLanes, values[k], distance);
    }
    if (lane == 0) parts[k][warp] = values[k];
  }
  __syncthreads();
  for (int k = 0; k < Count; ++k) {
    values[k] = parts[k][0];
    for (unsigned other = 1; other < blockDim.x / kWarp; ++other) values[k] += parts[k][other];
  }
}

template <class Value>
SCALECALC_DEVICE inline Value block_sum(Value value) {
  Value values[1] = {value};
  block_sums(values);
  return values[0];
}

template <class Value>
SCALECALC_DEVICE inline Value block_max(Value value) {
  __shared__ Value parts[kWarp];
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  __syncthreads();
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const Value other = __shfl_xor_sync(kAllLanes, value, distance);
    value = other > value ? other : value;
  }
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  value = parts[0];
  for (unsigned other = 1; other < blockDim.x / kWarp; ++other) {
    value = parts[other] > value ? parts[other] : value;
  }
  return value;
}

/// Threads of a block that serves one row of `width` entries.
inline unsigned row_threads(std::int64_t width) {
  unsigned threads = kWarp;
  while (threads < 256 && threads < width) threads *= 2;
  return threads;
}

}  // namespace scalecalc::tensor::cuda
