#include "tensor/cuda/calls.hpp"

#include <functional>
#include <string_view>

namespace scalecalc::tensor::cuda {
namespace {

bool same_kind(const Call& a, const Call& b) {
  return a.kernel == b.kernel && a.blocks == b.blocks && a.threads == b.threads &&
         a.send == b.send && a.self == b.self && a.count == b.count;
}

}  // namespace

void Calls::clear() {
  calls_.clear();
  arguments_.clear();
  bytes_.clear();
}

void* Calls::make_room(std::size_t size) {
  const std::size_t begin = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
  bytes_.resize(begin + size);
  arguments_.push_back({begin, size});
  return bytes_.data() + begin;
}

bool Calls::same_bytes(const Call& call, const Calls& other, const Call& its) const {
  for (std::size_t i = 0; i < call.count; ++i) {
    const std::size_t size = arguments_[call.first + i].size;
    if (size != other.arguments_[its.first + i].size ||
        std::memcmp(argument(call, i), other.argument(its, i), size) != 0) {
      return false;
    }
  }
  return true;
}

bool Calls::same_shape(const Calls& other) const {
  if (size() != other.size()) return false;
  for (std::size_t i = 0; i < size(); ++i) {
    const Call &call = calls_[i], &its = other.calls_[i];
    if (!same_kind(call, its)) return false;
    if (!call.is_kernel() && !same_bytes(call, other, its)) return false;
  }
  return true;
}

bool Calls::same_arguments(const Calls& other, std::size_t index) const {
  return same_bytes(calls_[index], other, other.calls_[index]);
}

std::size_t Calls::shape_hash() const {
  std::size_t hash = size();
  const auto mix = [&hash](std::size_t value) {
    hash ^= value + 0x9E3779B97F4A7C15u + (hash << 6) + (hash >> 2);
  };
  for (const Call& call : calls_) {
    if (call.is_kernel()) {
      mix(std::hash<const void*>()(call.kernel));
      mix(call.blocks.x ^ std::size_t{call.blocks.y} << 32);
    } else {
      const auto* order = static_cast<const char*>(argument(call, 0));
      mix(std::hash<std::string_view>()({order, arguments_[call.first].size}));
    }
  }
  return hash;
}

}  // namespace scalecalc::tensor::cuda
