// The one file that knows MPI.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <time.h>

#include <climits>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "cluster/mpi/functions.hpp"

namespace {

constexpr long kPauseNanoseconds = 200'000;

std::string failure;
int local = 0;

const char* explain(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  failure.assign(text, static_cast<std::size_t>(length));
  return failure.c_str();
}

/// Waits without keeping the core from the ranks that still work.
int wait_for(MPI_Request* request) {
  for (int done = 0;;) {
    const int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || done != 0) return code;
    const timespec pause = {0, kPauseNanoseconds};
    nanosleep(&pause, nullptr);
  }
}

int find_local_rank() {
  MPI_Comm neighbours = MPI_COMM_NULL;
  int code =
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &neighbours);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(neighbours, &local);
  if (neighbours != MPI_COMM_NULL) MPI_Comm_free(&neighbours);
  return code;
}

const char* start() {
  int given = 0;
  const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
  if (code != MPI_SUCCESS) return explain(code);
  if (given < MPI_THREAD_FUNNELED) return "this MPI allows no threads";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int split = find_local_rank();
  return split == MPI_SUCCESS ? nullptr : explain(split);
}

int rank() {
  int value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &value);
  return value;
}
int size() {
  int value = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &value);
  return value;
}
int local_rank() {
  return local;
}

const char* exchange(const char* bytes, std::size_t count, void* context,
                     void (*take)(void*, const char*, std::size_t)) {
  const auto ranks = static_cast<std::size_t>(size());
  const std::uint64_t own = count;
  std::vector<std::uint64_t> counts(ranks);
  MPI_Request request;
  int code = MPI_Iallgather(&own, 1, MPI_UINT64_T, counts.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD,
                            &request);
  if (code == MPI_SUCCESS) code = wait_for(&request);
  if (code != MPI_SUCCESS) return explain(code);

  const std::uint64_t total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (total > INT_MAX) return "the results of all ranks are more than 2 GiB";
  std::vector<int> lengths(counts.begin(), counts.end()), places(ranks, 0);
  for (std::size_t i = 1; i < ranks; ++i) places[i] = places[i - 1] + lengths[i - 1];
  std::vector<char> all(total);
  code = MPI_Iallgatherv(bytes, static_cast<int>(count), MPI_BYTE, all.data(), lengths.data(),
                         places.data(), MPI_BYTE, MPI_COMM_WORLD, &request);
  if (code == MPI_SUCCESS) code = wait_for(&request);
  if (code != MPI_SUCCESS) return explain(code);
  for (std::size_t i = 0; i < ranks; ++i) take(context, all.data() + places[i], counts[i]);
  return nullptr;
}

void finish() {
  MPI_Finalize();
}

constexpr ScalecalcMpi kFunctions = {
    {SCALECALC_PLUGIN_VERSION}, start, rank, size, local_rank, exchange, finish};

}  // namespace

extern "C" __attribute__((visibility("default"))) const ScalecalcPlugin* scalecalc_plugin() {
  return &kFunctions;
}
