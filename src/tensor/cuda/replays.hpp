#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "tensor/cuda/calls.hpp"

namespace scalecalc::tensor::cuda {

/// Calls that the device keeps, and runs again for the price of one.
class Graph {
 public:
  Graph() = default;
  virtual ~Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  /// Gives kernel `index` the arguments that it has in `calls`.
  virtual void update(const Calls& calls, std::size_t index) = 0;
  virtual void launch() = 0;
};

/// The way to the device. All throw Error(fault).
class Sender {
 public:
  Sender() = default;
  virtual ~Sender() = default;
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  /// Each call by itself.
  virtual void send(const Calls& calls) = 0;
  /// Null, and the reason in `why_not`, where the device cannot keep them; nothing is sent.
  virtual std::unique_ptr<Graph> keep(const Calls& calls, std::string& why_not) = 0;
};

/// Which calls are sent one by one and which as a graph. A pass asks for the same kernels as the
/// one before, at the same addresses, and differs in a few numbers: a learning rate, a correction
/// of Adam's, the step of a mask. So a graph is made of what comes a second time; whenever calls of
/// its shape come again, kernels whose arguments differ are updated, and it is launched. Other
/// calls (a changed network, other addresses in a product) have another shape, and no graph yet:
/// none is ever out of date.
class Replays {
 public:
  /// Fewer calls are sent one by one.
  static constexpr std::size_t kLeastCalls = 8;
  /// The one that was not used for longest makes way for another.
  static constexpr std::size_t kMostShapes = 128;

  explicit Replays(Sender& sender) : sender_(sender) {}

  void run(const Calls& calls);
  /// Why there are no graphs, from the first that could not be made; empty while there are.
  const std::string& why_none() const { return why_none_; }

 private:
  struct Known {
    Calls calls;
    std::unique_ptr<Graph> graph;
    std::uint64_t used = 0;
  };
  /// Null for a shape that is new; it is known from now on.
  Known* find(const Calls& calls);
  void forget_oldest();
  static void replay(Known& known, const Calls& calls);

  Sender& sender_;
  std::unordered_multimap<std::size_t, Known> shapes_;
  std::uint64_t runs_ = 0;
  std::string why_none_;
};

}  // namespace scalecalc::tensor::cuda
