#include "tensor/cuda/replays.hpp"

#include <algorithm>

namespace scalecalc::tensor::cuda {

void Replays::run(const Calls& calls) {
  if (calls.empty()) return;
  ++runs_;
  Known* known = calls.size() < kLeastCalls || !why_none_.empty() ? nullptr : find(calls);
  if (known == nullptr) return sender_.send(calls);
  if (known->graph) return replay(*known, calls);
  known->graph = sender_.keep(calls, why_none_);
  if (!known->graph) {
    if (why_none_.empty()) why_none_ = "no reason is given";
    shapes_.clear();
    return sender_.send(calls);
  }
  known->calls = calls;
  known->graph->launch();
}

Replays::Known* Replays::find(const Calls& calls) {
  const std::size_t hash = calls.shape_hash();
  const auto [first, last] = shapes_.equal_range(hash);
  const auto found = std::find_if(
      first, last, [&calls](const auto& entry) { return entry.second.calls.same_shape(calls); });
  if (found != last) {
    found->second.used = runs_;
    return &found->second;
  }
  if (shapes_.size() == kMostShapes) forget_oldest();
  shapes_.emplace(hash, Known{calls, nullptr, runs_});
  return nullptr;
}

void Replays::forget_oldest() {
  shapes_.erase(std::min_element(shapes_.begin(), shapes_.end(), [](const auto& a, const auto& b) {
    return a.second.used < b.second.used;
  }));
}

void Replays::replay(Known& known, const Calls& calls) {
  bool differs = false;
  try {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (!calls[i].is_kernel() || known.calls.same_arguments(calls, i)) continue;
      known.graph->update(calls, i);
      differs = true;
    }
  } catch (...) {
    known.graph = nullptr;  // half of one, half of the other
    throw;
  }
  if (differs) known.calls = calls;
  known.graph->launch();
}

}  // namespace scalecalc::tensor::cuda
