#include "tensor/cuda/queue.hpp"

#include <algorithm>

#include "scalecalc/error.hpp"
#include "tensor/cuda/stream_sender.hpp"

namespace scalecalc::tensor::cuda {
namespace {
constexpr std::size_t kResultBytes = 16 * sizeof(double);
/// The device begins early and is then fed in larger and larger parts.
constexpr std::size_t kFirstPart = 32, kLargestPart = 1024;
}  // namespace

struct Queue::Pending {
  Pending(const Queue& queue, bool graphs) : sender(queue), replays(sender), graphs(graphs) {}

  void send() {
    if (graphs) {
      replays.run(calls);
    } else {
      sender.send(calls);
    }
  }

  Calls calls;
  StreamSender sender;
  Replays replays;
  bool graphs;
  std::size_t part = kFirstPart;
};

Queue::Queue(int index, bool graphs)
    : index_(index), pending_(std::make_unique<Pending>(*this, graphs)) {
  activate("start");
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "start");
  void* results = nullptr;
  const cudaError_t status = cudaMallocHost(&results, kResultBytes);
  if (status != cudaSuccess) {
    cudaStreamDestroy(stream_);
    fail(status, "start");
  }
  results_ = static_cast<double*>(results);
}

Queue::~Queue() {
  cudaSetDevice(index_);
  cudaStreamSynchronize(stream_);
  pending_ = nullptr;
  cudaFreeHost(results_);
  cudaStreamDestroy(stream_);
}

Calls& Queue::pending() const {
  return pending_->calls;
}

void Queue::asked() const {
  Pending& pending = *pending_;
  if (pending.graphs && pending.calls.size() < pending.part) return;
  const std::size_t next = std::min(2 * pending.part, kLargestPart);
  submit();
  pending.part = next;
}

void Queue::submit() const {
  Pending& pending = *pending_;
  pending.part = kFirstPart;
  if (pending.calls.empty()) return;
  try {
    activate(pending.calls[0].operation);
    pending.send();
  } catch (...) {
    forget();
    throw;
  }
  pending.calls.clear();
}

void Queue::forget() const noexcept {
  pending_->calls.clear();
}

std::string Queue::why_no_graphs() const {
  return pending_->replays.why_none();
}

void Queue::wait(const char* operation) const {
  submit();
  check(cudaStreamSynchronize(stream_), operation);
}

void Queue::fail(cudaError_t status, const char* operation) const {
  throw Error(ErrorKind::fault, std::string(operation) + " failed: " + cudaGetErrorString(status),
              "device " + device() + ", " + operation,
              "run again, or use --device cpu; work asked for before may be what failed");
}

}  // namespace scalecalc::tensor::cuda
