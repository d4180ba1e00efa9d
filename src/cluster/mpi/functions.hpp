#pragma once

#include <cstddef>

#include "base/plugin.hpp"

/// What scalecalc_mpi.so offers to the program that opens it: a table of C functions. Those that
/// return const char* give nullptr, or what went wrong, in words.
extern "C" {

struct ScalecalcMpi : ScalecalcPlugin {
  const char* (*start)();
  int (*rank)();
  int (*size)();
  int (*local_rank)();
  /// Hands `take` the bytes of every rank, by rank.
  const char* (*exchange)(const char* bytes, std::size_t count, void* context,
                          void (*take)(void* context, const char* bytes, std::size_t count));
  void (*finish)();
};
}
