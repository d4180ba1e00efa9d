#include "graphs.hpp"

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "arena.hpp"
#include "blocks.hpp"
#include "cuda_runtime_api.h"

using Work = std::function<void()>;

struct cudaGraphNodeOfHost {
  std::shared_ptr<Work> work;
};
/// A chain: each node depends on the one before. Nodes go with their graph.
struct cudaGraphOfHost {
  std::vector<std::unique_ptr<cudaGraphNodeOfHost>> nodes;
};
struct cudaGraphExecOfHost {
  std::unordered_map<const Work*, Work> now;
  std::vector<const Work*> order;
};

namespace emulator {
namespace {

cudaGraph_t capturing = nullptr;
bool refused = false;
GraphCounts counts;
std::unordered_set<cudaGraphNode_t> living;

std::unordered_map<const void*, Runner>& runners() {
  static std::unordered_map<const void*, Runner> all;
  return all;
}

/// Empty for a kernel that was never learnt.
Work work_of(const void* kernel, dim3 blocks, dim3 threads, void** arguments) {
  const auto found = runners().find(kernel);
  if (found == runners().end()) return {};
  return [blocks, threads, body = found->second(arguments)] { run(blocks, threads, body); };
}

cudaGraphNode_t append(cudaGraph_t graph, Work work) {
  graph->nodes.push_back(
      std::make_unique<cudaGraphNodeOfHost>(std::make_shared<Work>(std::move(work))));
  return *living.insert(graph->nodes.back().get()).first;
}

}  // namespace

void learn(const void* kernel, const Runner& runner) {
  runners().try_emplace(kernel, runner);
}
void refuse_graphs(bool now) {
  refused = now;
}
GraphCounts graph_counts() {
  return counts;
}
void perform(Work work) {
  if (capturing == nullptr) return work();
  append(capturing, std::move(work));
}

}  // namespace emulator

cudaError_t cudaLaunchKernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments,
                             std::size_t, cudaStream_t) {
  Work work = emulator::work_of(kernel, blocks, threads, arguments);
  if (!work) return cudaErrorInvalidValue;
  emulator::perform(std::move(work));
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  if (emulator::refused) return cudaErrorStreamCaptureUnsupported;
  if (emulator::capturing != nullptr) return cudaErrorInvalidValue;
  return cudaGraphCreate(&emulator::capturing, 0);
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = std::exchange(emulator::capturing, nullptr);
  return *graph != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  *graph = new cudaGraphOfHost;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  for (const auto& node : graph->nodes) emulator::living.erase(node.get());
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t*,
                                   std::size_t, const cudaKernelNodeParams* made) {
  Work work = emulator::work_of(made->func, made->gridDim, made->blockDim, made->kernelParams);
  if (!work) return cudaErrorInvalidValue;
  *node = emulator::append(graph, std::move(work));
  return cudaSuccess;
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t*, std::size_t, cudaGraph_t child) {
  std::vector<std::shared_ptr<Work>> works;
  for (const auto& part : child->nodes) works.push_back(part->work);
  *node = emulator::append(graph, [works] {
    for (const auto& work : works) (*work)();
  });
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  if (emulator::refused) return cudaErrorStreamCaptureUnsupported;
  *executable = new cudaGraphExecOfHost;
  for (const auto& node : graph->nodes) {
    (*executable)->now.emplace(node->work.get(), *node->work);
    (*executable)->order.push_back(node->work.get());
  }
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* made) {
  if (!emulator::living.contains(node)) return cudaErrorInvalidValue;
  const auto found = executable->now.find(node->work.get());
  Work work = emulator::work_of(made->func, made->gridDim, made->blockDim, made->kernelParams);
  if (found == executable->now.end() || !work) return cudaErrorInvalidValue;
  found->second = std::move(work);
  ++emulator::counts.updates;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  emulator::open();
  for (const Work* node : executable->order) executable->now.at(node)();
  ++emulator::counts.launches;
  return cudaSuccess;
}
