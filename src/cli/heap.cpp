#include "cli/heap.hpp"

#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace scalecalc::cli {
namespace {
bool is_own = false;
}  // namespace

void claim_heap() {
  is_own = true;
}

#ifdef __GLIBC__

namespace {
constexpr int kMiB = 1 << 20;
constexpr std::uintptr_t kHugePage = 2 * kMiB;
}  // namespace

void expect_large_heap() {
  if (!is_own) return;
  rlimit limit{};
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA})
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return;
  // What glibc moves its thresholds to by itself as large blocks are freed; to set one of them
  // keeps all where they are.
  mallopt(M_MMAP_THRESHOLD, 32 * kMiB);
  mallopt(M_TRIM_THRESHOLD, 64 * kMiB);
  const auto begin = reinterpret_cast<std::uintptr_t>(sbrk(0));
  mallopt(M_TOP_PAD, 32 * kMiB);
  void* volatile block = std::malloc(kMiB);  // volatile: not to be optimised away
  std::free(block);
  mallopt(M_TOP_PAD, kMiB / 8);
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

#else

void expect_large_heap() {}

#endif

}  // namespace scalecalc::cli
