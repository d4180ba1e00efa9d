#include "base/machine.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/input_file.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::base {
namespace {

namespace fs = std::filesystem;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// Empty where there is no such file.
std::string text_of(const fs::path& path) {
  try {
    return read_input(path.string(), {"limit", ""});
  } catch (const Error&) {
    return {};
  }
}

/// The number in a file of the control group; "max" and no file are no limit.
double limit_in(const fs::path& path) {
  const std::string text = text_of(path);
  double bytes = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return failure == std::errc() && bytes > 0 ? bytes : kUnlimited;
}

/// Of the group of this process and of all above it: version 2, and version 1 inside a container.
double group_limit() {
  const fs::path root = "/sys/fs/cgroup";
  double least =
      std::min(limit_in(root / "memory.max"), limit_in(root / "memory" / "memory.limit_in_bytes"));
  constexpr char kVersion2[] = "0::/";
  const std::string groups = text_of("/proc/self/cgroup");
  const std::size_t at = groups.find(kVersion2);
  if (at == std::string::npos) return least;
  const std::size_t begin = at + sizeof kVersion2 - 1;
  fs::path group = groups.substr(begin, groups.find('\n', begin) - begin);
  for (; !group.empty(); group = group.parent_path())
    least = std::min(least, limit_in(root / group / "memory.max"));
  return least;
}

double process_limit() {
  double least = kUnlimited;
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit = {};
    if (::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      least = std::min(least, static_cast<double>(limit.rlim_cur));
  }
  return least;
}

}  // namespace

double machine_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

double allowed_bytes() {
  static const double group = group_limit();
  return std::min({machine_bytes(), group, process_limit()});
}

void check_memory(const std::string& what, double needed, const std::string& where,
                  const std::string& hint) {
  const double allowed = allowed_bytes();
  if (needed <= allowed) return;
  throw Error(ErrorKind::input,
              fmt::format("{} needs about {:.3g} GiB of memory, and {:.3g} GiB are allowed", what,
                          needed / kGiB, allowed / kGiB),
              where, hint);
}

}  // namespace scalecalc::base
