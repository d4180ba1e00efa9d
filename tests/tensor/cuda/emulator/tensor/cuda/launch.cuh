#pragma once

#include <cstdint>

#include "arena.hpp"
#include "blocks.hpp"
#include "tensor/cuda/queue.hpp"

/// In place of the launch.cuh of the CUDA backend: kernels run on the host, block after block.
#define SCALECALC_KERNEL void
#define SCALECALC_DEVICE

namespace scalecalc::tensor::cuda {

template <class... Parameters, class... Arguments>
void launch(const Queue& queue, const char* operation, dim3 blocks, dim3 threads,
            void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return;
  queue.activate(operation);
  const emulator::Access access;
  emulator::run(blocks, threads, [&] { kernel(arguments...); });
}

}  // namespace scalecalc::tensor::cuda
