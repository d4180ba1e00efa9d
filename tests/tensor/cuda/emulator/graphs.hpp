#pragma once

#include <cstddef>
#include <functional>
#include <tuple>
#include <utility>

namespace emulator {

/// Something that a kernel, cuBLAS or NVRTC would do to device memory: done now, or, while the
/// stream is captured, when the graph is launched.
void perform(std::function<void()> work);

/// How a kernel runs once it has copied its arguments, which are found by address.
using Runner = std::function<std::function<void()>(void** arguments)>;
/// Kernels are told apart by their address. Twice is once.
void learn(const void* kernel, const Runner& runner);

/// Arguments of these types, found by address.
template <class... Parameters>
std::tuple<Parameters...> copied(void** from) {
  return [from]<std::size_t... i>(std::index_sequence<i...>) {
    return std::tuple<Parameters...>(*static_cast<const Parameters*>(from[i])...);
  }
  (std::index_sequence_for<Parameters...>());
}

/// From now on graphs cannot be made, as on a device that does not take what is captured.
void refuse_graphs(bool refused);
/// Graphs launched since the program began, and kernels in them that were given new arguments.
struct GraphCounts {
  long launches = 0, updates = 0;
};
GraphCounts graph_counts();

}  // namespace emulator
