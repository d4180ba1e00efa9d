#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

/// What AddressSanitizer, where it watches, must be told: which stack is in use, and which bytes of
/// the arena are taken.
namespace emulator {

struct Stack {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* kept = nullptr;  ///< the sanitizer's own, while another stack is in use
};

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kIsWatched = true;
/// Before a jump from one stack to another.
inline void leave(Stack& from, const Stack& to) {
  __sanitizer_start_switch_fiber(&from.kept, to.bottom, to.bytes);
}
/// After it, on the other; `from` learns where it lies.
inline void arrive(const Stack& to, Stack& from) {
  __sanitizer_finish_switch_fiber(to.kept, &from.bottom, &from.bytes);
}
inline void allow(void* data, std::size_t bytes) {
  __asan_unpoison_memory_region(data, bytes);
}
inline void forbid(void* data, std::size_t bytes) {
  __asan_poison_memory_region(data, bytes);
}
#else
inline constexpr bool kIsWatched = false;
inline void leave(Stack&, const Stack&) {}
inline void arrive(const Stack&, Stack&) {}
inline void allow(void*, std::size_t) {}
inline void forbid(void*, std::size_t) {}
#endif

}  // namespace emulator
