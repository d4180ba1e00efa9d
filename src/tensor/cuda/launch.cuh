#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <tuple>

#include "tensor/cuda/queue.hpp"

/// Every kernel is started through launch(), so that another way of running blocks of threads can
/// stand in its place.
#define SCALECALC_KERNEL __global__ void
#define SCALECALC_DEVICE __device__

namespace scalecalc::tensor::cuda {

/// Asks for kernel(arguments...) over a grid; an empty grid is nothing to do.
template <class... Parameters, class... Arguments>
void launch(const Queue& queue, const char* operation, dim3 blocks, dim3 threads,
            void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return;
  queue.kernel(operation, reinterpret_cast<const void*>(kernel), {blocks.x, blocks.y, blocks.z},
               {threads.x, threads.y, threads.z}, std::tuple<Parameters...>(arguments...));
}

}  // namespace scalecalc::tensor::cuda
