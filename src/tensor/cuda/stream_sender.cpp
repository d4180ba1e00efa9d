#include "tensor/cuda/stream_sender.hpp"

#include "scalecalc/error.hpp"

namespace scalecalc::tensor::cuda {
namespace {

dim3 dim(const Extent& extent) {
  return {extent.x, extent.y, extent.z};
}

/// The runtime takes arguments by address, as if it wrote to them.
void** addresses(const Calls& calls, const Call& call, std::vector<void*>& out) {
  out.clear();
  for (std::size_t i = 0; i < call.count; ++i) {
    out.push_back(const_cast<void*>(calls.argument(call, i)));
  }
  return out.data();
}

cudaKernelNodeParams parameters(const Calls& calls, const Call& call, std::vector<void*>& out) {
  cudaKernelNodeParams result = {};
  result.func = const_cast<void*>(call.kernel);
  result.gridDim = dim(call.blocks);
  result.blockDim = dim(call.threads);
  result.kernelParams = addresses(calls, call, out);
  return result;
}

/// Thrown within keep(), which says so in words.
struct CannotKeep {
  cudaError_t status;
};
void need(cudaError_t status) {
  if (status != cudaSuccess) throw CannotKeep{status};
}

/// A CUDA graph: one call after the other. Its nodes are its own: what is updated in an executable
/// graph is named by a node of the graph that it was made of, which must still be there.
class Chain {
 public:
  explicit Chain(const Queue& queue) : queue_(queue) { need(cudaGraphCreate(&graph_, 0)); }
  ~Chain() { cudaGraphDestroy(graph_); }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  void add(const Calls& calls, const Call& call) {
    cudaGraphNode_t node = nullptr;
    const std::size_t before = nodes_.empty() ? 0 : 1;
    const cudaGraphNode_t* last = before == 0 ? nullptr : &nodes_.back();
    if (call.is_kernel()) {
      const cudaKernelNodeParams made = parameters(calls, call, arguments_);
      need(cudaGraphAddKernelNode(&node, graph_, last, before, &made));
    } else {
      const cudaGraph_t part = captured(calls, call);
      const cudaError_t status = cudaGraphAddChildGraphNode(&node, graph_, last, before, part);
      cudaGraphDestroy(part);
      need(status);
    }
    nodes_.push_back(node);
  }
  cudaGraphExec_t executable() const {
    cudaGraphExec_t made = nullptr;
    need(cudaGraphInstantiate(&made, graph_, 0));
    return made;
  }
  cudaGraphNode_t node(std::size_t index) const { return nodes_[index]; }

 private:
  /// What a fixed call puts on the stream.
  cudaGraph_t captured(const Calls& calls, const Call& call) {
    cudaGraph_t part = nullptr;
    need(cudaStreamBeginCapture(queue_.stream(), cudaStreamCaptureModeThreadLocal));
    try {
      call.send(call.self, call.operation, calls.argument(call, 0));
    } catch (...) {
      cudaStreamEndCapture(queue_.stream(), &part);
      if (part != nullptr) cudaGraphDestroy(part);
      throw;
    }
    need(cudaStreamEndCapture(queue_.stream(), &part));
    return part;
  }

  const Queue& queue_;
  cudaGraph_t graph_ = nullptr;
  std::vector<cudaGraphNode_t> nodes_;
  std::vector<void*> arguments_;
};

class StreamGraph final : public Graph {
 public:
  StreamGraph(const Queue& queue, std::unique_ptr<Chain> chain)
      : queue_(queue), chain_(std::move(chain)), executable_(chain_->executable()) {}
  ~StreamGraph() override { cudaGraphExecDestroy(executable_); }

  void update(const Calls& calls, std::size_t index) override {
    const Call& call = calls[index];
    const cudaKernelNodeParams made = parameters(calls, call, arguments_);
    queue_.check(cudaGraphExecKernelNodeSetParams(executable_, chain_->node(index), &made),
                 call.operation);
  }
  void launch() override {
    queue_.check(cudaGraphLaunch(executable_, queue_.stream()), "launch of a graph");
  }

 private:
  const Queue& queue_;
  std::unique_ptr<Chain> chain_;
  cudaGraphExec_t executable_;
  std::vector<void*> arguments_;
};

}  // namespace

void StreamSender::send(const Calls& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    if (!call.is_kernel()) {
      call.send(call.self, call.operation, calls.argument(call, 0));
      continue;
    }
    queue_.check(cudaLaunchKernel(call.kernel, dim(call.blocks), dim(call.threads),
                                  addresses(calls, call, arguments_), 0, queue_.stream()),
                 call.operation);
  }
}

std::unique_ptr<Graph> StreamSender::keep(const Calls& calls, std::string& why_not) {
  try {
    auto chain = std::make_unique<Chain>(queue_);
    for (std::size_t i = 0; i < calls.size(); ++i) chain->add(calls, calls[i]);
    return std::make_unique<StreamGraph>(queue_, std::move(chain));
  } catch (const CannotKeep& failure) {
    why_not = cudaGetErrorString(failure.status);
  } catch (const Error& error) {
    why_not = error.message();
  }
  cudaGetLastError();
  return nullptr;
}

}  // namespace scalecalc::tensor::cuda
