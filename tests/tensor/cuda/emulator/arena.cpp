#include "arena.hpp"

#include <sys/mman.h>

#include <cstring>
#include <map>

namespace emulator {
namespace {

constexpr std::size_t kAlignment = 256;

char* arena() {
  static char* const start = static_cast<char*>(
      mmap(nullptr, kArenaBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return start;
}

/// Taken pieces, by where they begin.
std::map<std::size_t, std::size_t>& pieces() {
  static std::map<std::size_t, std::size_t> all;
  return all;
}

bool is_open = false;

}  // namespace

void open() {
  if (!is_open) mprotect(arena(), kArenaBytes, PROT_READ | PROT_WRITE);
  is_open = true;
}
void close() {
  if (is_open) mprotect(arena(), kArenaBytes, PROT_NONE);
  is_open = false;
}

void* take(std::size_t bytes) {
  const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  std::size_t begin = 0;
  for (const auto& [at, length] : pieces()) {
    if (at - begin >= size) break;
    begin = at + length;
  }
  if (size > kArenaBytes - begin) return nullptr;
  pieces()[begin] = size;
  open();
  std::memset(arena() + begin, 0xFF, size);
  return arena() + begin;
}

bool give_back(void* data) {
  return pieces().erase(static_cast<std::size_t>(static_cast<char*>(data) - arena())) == 1;
}

std::size_t bytes_taken() {
  std::size_t sum = 0;
  for (const auto& [at, length] : pieces()) sum += length;
  return sum;
}

}  // namespace emulator
