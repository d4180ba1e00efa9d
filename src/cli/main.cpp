#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "cli/app.hpp"

namespace {

/// Rules of attention make the same large matrices again for every layer: what they free stays with
/// the process, whose pages the kernel would have to clear each time otherwise (half of the time of
/// a model with ALiBi at 2048 tokens).
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kept = 1 << 28;
  mallopt(M_MMAP_THRESHOLD, kept);
  mallopt(M_TRIM_THRESHOLD, kept);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  return scalecalc::cli::run(argc, argv);
}
