#include "cli/work_note.hpp"

#include <fmt/format.h>

#include "base/machine.hpp"

namespace scalecalc::cli {
namespace {

constexpr double kLongSeconds = 10;
/// Operations a second in double precision, twice as many in single: of one thread and of a device.
constexpr double kThreadRate = 4e10, kDeviceRate = 5e12;

std::string size_text(double bytes) {
  const double gib = bytes / base::kGiB;
  return gib < 0.1 ? fmt::format("{:.2g} MiB", 1024 * gib) : fmt::format("{:.2g} GiB", gib);
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.3g} h", seconds / 3600);
}

std::string work_note(const PassWork& work, int threads, const std::string& device) {
  const double by_precision = work.single_precision ? 2 : 1;
  double rate = kThreadRate * threads * by_precision;
  if (work.operations < kLongSeconds * rate) return {};
  if (!runs_on_cpu(device)) rate = kDeviceRate * by_precision;
  const double seconds = work.operations / rate;
  if (seconds < kLongSeconds) return {};
  return fmt::format("the passes take {:.1e} operations and {}: about {} at {:.2g} a second",
                     work.operations, size_text(work.bytes), duration_text(seconds), rate);
}

}  // namespace scalecalc::cli
