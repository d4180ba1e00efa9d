#pragma once

#include <cstddef>

/// What scalecalc_mpi.so offers to the program that opens it: the one symbol
/// `scalecalc_mpi_functions`, a table of C functions. Those that return const char* give nullptr,
/// or what went wrong, in words.
extern "C" {

struct ScalecalcMpi {
  int version;  ///< kScalecalcMpiVersion of the header it was built with
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

inline constexpr int kScalecalcMpiVersion = 1;
