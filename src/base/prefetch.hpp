#pragma once

#include <cstddef>

namespace scalecalc::base {

/// Asks for memory that is going to be read soon. Of a deep network more is written on one way than
/// a cache holds, and the other way reads it in an order of its own, which no machine foresees.
inline void prefetch(const void* at, std::size_t bytes) {
  constexpr std::size_t line = 64;
  const char* const first = static_cast<const char*>(at);
  for (std::size_t k = 0; k < bytes; k += line) __builtin_prefetch(first + k);
}

}  // namespace scalecalc::base
