#include <fmt/format.h>

#include "scalecalc/moments.hpp"
#include "scalecalc/verify.hpp"
#include "verify/agreement/shared_samples.hpp"

namespace scalecalc {
namespace {

constexpr int fewest_seeds = 2, most_seeds = 10000, most_threads = 1024;

void check_range(const char* name, int value, int first, int last, const char* hint) {
  if (value >= first && value <= last) return;
  throw Error(ErrorKind::input,
              fmt::format("{} must be from {} to {}, got {}", name, first, last, value), "verify",
              hint);
}

}  // namespace

Verification verify_network(const Network& network, const VerifyOptions& options) {
  check_range("seeds", options.seeds, fewest_seeds, most_seeds,
              "a standard error needs two seeds at least, for example 16");
  check_range("threads", options.threads, 1, most_threads, "for example 2");
  PropagateOptions propagation;
  propagation.threads = options.threads;
  const Trace predicted = propagate(network, propagation);
  const auto report = [&](double done) {
    return !options.progress || options.progress(done, fmt::format("{} seeds", options.seeds));
  };
  const PassSamples measured = shared_samples(network, options, report);
  return compare(predicted, measured, {options.confidence, options.single_precision});
}

}  // namespace scalecalc
