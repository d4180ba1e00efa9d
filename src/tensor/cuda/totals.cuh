#pragma once

#include "tensor/cuda/grid.cuh"
#include "tensor/cuda/pool.hpp"
#include "tensor/cuda/reduce.cuh"

/// Numbers for the host: sums in double, in an order that depends on the number of entries alone.
namespace scalecalc::tensor::cuda {

constexpr unsigned kTotalThreads = 256;

/// Count sums of terms(i, sums) over i, one set for each block.
template <int Count, class Terms>
SCALECALC_KERNEL totals_kernel(std::int64_t count, Terms terms, double* out) {
  double sums[Count] = {};
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    terms(i, sums);
  }
  block_sums(sums);
  if (threadIdx.x != 0) return;
  for (int k = 0; k < Count; ++k) out[blockIdx.x * Count + k] = sums[k];
}

/// The sets of `sums` (count, Count), added up.
template <int Count>
struct AddSets {
  const double* sets;
  SCALECALC_DEVICE void operator()(std::int64_t i, double (&sums)[Count]) const {
    for (int k = 0; k < Count; ++k) sums[k] += sets[i * Count + k];
  }
};

/// Leaves the totals of `sets` where wait() shows them to the host, and waits.
template <int Count>
const double* add_sets(const Queue& queue, const char* operation, std::int64_t count,
                       const double* sets) {
  launch(queue, operation, dim3(1), dim3(kTotalThreads), totals_kernel<Count, AddSets<Count>>,
         count, AddSets<Count>{sets}, queue.results());
  queue.wait(operation);
  return queue.results();
}

template <int Count, class Terms>
const double* totals(Pool& pool, const char* operation, std::int64_t count, const Terms& terms) {
  constexpr std::int64_t kEntriesPerBlock = 4096, kMostBlocks = 1024;
  const Queue& queue = pool.queue();
  const unsigned blocks = blocks_of(count, kEntriesPerBlock, kMostBlocks);
  if (blocks <= 1) {
    launch(queue, operation, dim3(1), dim3(kTotalThreads), totals_kernel<Count, Terms>, count,
           terms, queue.results());
    queue.wait(operation);
    return queue.results();
  }
  const Scratch<double> sets(pool, static_cast<std::int64_t>(blocks) * Count);
  launch(queue, operation, dim3(blocks), dim3(kTotalThreads), totals_kernel<Count, Terms>, count,
         terms, sets.data());
  return add_sets<Count>(queue, operation, blocks, sets.data());
}

}  // namespace scalecalc::tensor::cuda
