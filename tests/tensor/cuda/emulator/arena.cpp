#include "arena.hpp"

#include <sys/mman.h>

#include <cstring>
#include <map>

#include "sanitizer.hpp"

namespace emulator {
namespace {

constexpr std::size_t kAlignment = 256, kGap = kIsWatched ? kAlignment : 0;

char* arena() {
  static char* const start = [] {
    void* const all =
        mmap(nullptr, kArenaBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    forbid(all, kArenaBytes);
    return static_cast<char*>(all);
  }();
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
    if (at - begin >= size + kGap) break;
    begin = at + length + kGap;
  }
  if (begin > kArenaBytes || size > kArenaBytes - begin) return nullptr;
  pieces()[begin] = size;
  open();
  allow(arena() + begin, size);
  std::memset(arena() + begin, 0xFF, size);
  return arena() + begin;
}

bool give_back(void* data) {
  const auto piece = pieces().find(static_cast<std::size_t>(static_cast<char*>(data) - arena()));
  if (piece == pieces().end()) return false;
  forbid(data, piece->second);
  pieces().erase(piece);
  return true;
}

std::size_t bytes_taken() {
  std::size_t sum = 0;
  for (const auto& [at, length] : pieces()) sum += length;
  return sum;
}

}  // namespace emulator
