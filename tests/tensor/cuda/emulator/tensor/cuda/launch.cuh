#pragma once

#include <cstdint>

#include <tuple>

#include "arena.hpp"
#include "blocks.hpp"
#include "graphs.hpp"
#include "tensor/cuda/queue.hpp"

/// In place of the launch.cuh of the CUDA backend: kernels run on the host, block after block.
#define SCALECALC_KERNEL void
#define SCALECALC_DEVICE

namespace scalecalc::tensor::cuda {

template <class... Parameters, class... Arguments>
void launch(const Queue& queue, const char* operation, dim3 blocks, dim3 threads,
            void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return;
  const auto* const address = reinterpret_cast<const void*>(kernel);
  emulator::learn(address, [kernel](void** from) -> std::function<void()> {
    const std::tuple<Parameters...> values = emulator::copied<Parameters...>(from);
    return [kernel, values] {
      emulator::open();
      std::apply(kernel, values);
    };
  });
  queue.kernel(operation, address, {blocks.x, blocks.y, blocks.z},
               {threads.x, threads.y, threads.z}, std::tuple<Parameters...>(arguments...));
}

}  // namespace scalecalc::tensor::cuda
