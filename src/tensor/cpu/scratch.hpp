#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace scalecalc::tensor {

/// At least `count` entries of this thread's own, aligned for vectors and not initialised. The next
/// call on the thread for the same use may hand out the same ones; what is longest is kept.
template <class T, class Use = void>
T* scratch(std::int64_t count) {
  constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(void* data) const { ::operator delete(data, kAlignment); }
  };
  thread_local std::unique_ptr<void, Free> kept;
  thread_local std::int64_t size = 0;
  if (count > size) {
    kept.reset(::operator new(static_cast<std::size_t>(count) * sizeof(T), kAlignment));
    size = count;
  }
  return static_cast<T*>(kept.get());
}

}  // namespace scalecalc::tensor
