#pragma once

#include <vector>

#include "tensor/cuda/queue.hpp"
#include "tensor/cuda/replays.hpp"

namespace scalecalc::tensor::cuda {

/// Calls to the stream of a queue: one by one, or kept as a CUDA graph.
class StreamSender final : public Sender {
 public:
  explicit StreamSender(const Queue& queue) : queue_(queue) {}
  void send(const Calls& calls) override;
  std::unique_ptr<Graph> keep(const Calls& calls, std::string& why_not) override;

 private:
  const Queue& queue_;
  std::vector<void*> arguments_;
};

}  // namespace scalecalc::tensor::cuda
