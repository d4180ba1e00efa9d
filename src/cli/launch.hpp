#pragma once

#include <memory>

#include "scalecalc/cluster.hpp"

namespace scalecalc::cli {

/// How this process was started: alone, or by mpirun as one of several.
struct Launch {
  int rank = 0, size = 1;
  /// mpirun hands on what is printed: a terminal at stdout is one that it has made itself.
  bool is_forwarded = false;
  bool is_first() const { return rank == 0; }
};
/// By what Open MPI (OMPI_COMM_WORLD_*) and the starters of the PMI kind (PMI_*) leave in the
/// environment.
Launch launch_of_environment();
/// The ranks of this launch. Throws Error(fault), also where MPI knows the process by another rank
/// than its starter: each would believe to be alone.
std::unique_ptr<Ranks> start_ranks(const Launch& launch);

}  // namespace scalecalc::cli
