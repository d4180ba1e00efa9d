#pragma once

#include <cstddef>
#include <cstring>
#include <functional>

/// Kernels on the host: the threads of a block take turns, each running until it meets a barrier or
/// an exchange with its warp. A barrier that not all threads reach ends the program.
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __noinline__

namespace emulator {

void run(dim3 blocks, dim3 threads, const std::function<void()>& kernel);
/// Until every thread of the warp, or of the block, has come here.
void meet_warp();
void meet_block();
/// Eight bytes of the calling thread, or of the one in the same warp whose lane differs by `mask`.
void* slot(int mask = 0);

}  // namespace emulator

inline void __syncthreads() {
  emulator::meet_block();
}
template <class Value>
Value __shfl_xor_sync(unsigned, Value value, int mask) {
  static_assert(sizeof(Value) <= 8);
  std::memcpy(emulator::slot(), &value, sizeof value);
  emulator::meet_warp();
  std::memcpy(&value, emulator::slot(mask), sizeof value);
  emulator::meet_warp();
  return value;
}
