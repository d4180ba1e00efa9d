#include "verify/memory.hpp"

#include <fmt/format.h>

#include "base/machine.hpp"
#include "passes/check.hpp"
#include "verify/measure.hpp"

namespace scalecalc {
namespace {

/// Allocator overhead, buffers of one gradient and one step.
constexpr double overhead = 1.1;

double counted_entries(const Network& network, ParameterSet set) {
  double entries = 0;
  for (const ParameterInfo& info : parameters(network))
    if (counts(info, set))
      entries += static_cast<double>(info.rows) * static_cast<double>(info.columns);
  return entries;
}

}  // namespace

PassWork measurement_work(const Network& network, const SweepOptions& options) {
  const std::size_t entry_bytes = in_single_precision(options) ? sizeof(float) : sizeof(double);
  PassWork work = pass_work(network, 1, in_single_precision(options), options.recompute);
  if (options.quantity == Quantity::actual_delta_loss)
    work.bytes += counted_entries(network, options.parameters) * static_cast<double>(entry_bytes);
  work.bytes =
      overhead * work.bytes + layout_bytes(static_cast<std::int64_t>(network.layers.size()) / 2);
  return work;
}

double layout_bytes(std::int64_t layers) {
  return 8192.0 * static_cast<double>(layers);
}

double concurrent_bytes() {
  return passes::kConcurrentBytes;
}

double single_bytes() {
  return 0.75 * base::allowed_bytes();
}

void check_bytes(double bytes, std::int64_t layers) {
  if (bytes <= single_bytes()) return;
  throw Error(ErrorKind::input,
              fmt::format("one pass needs {:.4g} GiB, and the limit is {:.4g} GiB, 3/4 of the "
                          "memory that is allowed",
                          bytes / base::kGiB, single_bytes() / base::kGiB),
              fmt::format("layers = {}", layers),
              "use fewer layers, a smaller width or fewer tokens");
}

}  // namespace scalecalc
