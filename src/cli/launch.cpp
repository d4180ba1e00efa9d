#include "cli/launch.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "cli/plugins.hpp"

namespace scalecalc::cli {
namespace {

std::optional<int> number_of(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  int number = 0;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

}  // namespace

Launch launch_of_environment() {
  constexpr const char* kStarters[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                          {"PMI_SIZE", "PMI_RANK"}};
  for (const auto& starter : kStarters) {
    const std::optional<int> size = number_of(starter[0]), rank = number_of(starter[1]);
    if (size && rank && *rank >= 0 && *rank < *size) return {*rank, *size, true};
  }
  return {};
}

std::unique_ptr<Ranks> start_ranks(const Launch& launch) {
  std::unique_ptr<Ranks> ranks = mpi_ranks(plugin_paths("scalecalc_mpi.so"));
  if (ranks->rank() == launch.rank && ranks->size() == launch.size) return ranks;
  throw Error(ErrorKind::fault,
              fmt::format("started as rank {} of {}, and MPI knows rank {} of {}", launch.rank,
                          launch.size, ranks->rank(), ranks->size()),
              "MPI", "start it by the mpirun of the MPI that the program was built with");
}

}  // namespace scalecalc::cli
