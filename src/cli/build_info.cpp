#include "cli/build_info.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "cli/commit.hpp"
#include "cli/plugins.hpp"
#include "scalecalc/passes.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::cli {
namespace {

/// Of the first CUDA device, or why there is none.
std::string cuda_text(const std::vector<DeviceInfo>& devices) {
  std::string why = "no device";
  for (const DeviceInfo& info : devices) {
    if (info.name == "cpu") continue;
    if (info.available()) return info.model + ", capability " + info.capability;
    why = info.why_none;
  }
  return "none: " + why;
}

std::string mpi_text() {
  std::error_code ignored;
  for (const std::string& path : plugin_paths("scalecalc_mpi.so"))
    if (std::filesystem::exists(path, ignored)) return path;
  return "none: built without it (SCALECALC_MPI)";
}

}  // namespace

std::string version_text() {
  const std::vector<DeviceInfo> all = devices();
  return fmt::format(
      "scalecalc {}\ncommit    {}\ncompiler  {}\nproducts  {}\nCUDA      {}\nMPI       {}\n",
      report::version(), kCommit, SCALECALC_COMPILER, all.front().products, cuda_text(all),
      mpi_text());
}

}  // namespace scalecalc::cli
