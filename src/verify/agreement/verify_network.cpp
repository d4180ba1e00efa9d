#include <fmt/format.h>

#include <limits>
#include <optional>

#include "network/memory.hpp"
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

/// Empty where targets are no classes, where there is one, or where equal ones are no rare event.
std::optional<EqualTargets> equal_targets(const Network& network, const Trace& predicted,
                                          const PropagateOptions& propagation, int seeds) {
  const double tokens = static_cast<double>(predicted.sites.back().tokens);
  const double batch = static_cast<double>(network.batch), samples = tokens * batch;
  // More samples than classes cannot all differ; pairs of them are many then.
  if (network.loss != Loss::cross_entropy || samples < 2 ||
      samples > static_cast<double>(network.classes))
    return {};
  const double chance = network.target_collision > 0 ? network.target_collision
                                                     : 1 / static_cast<double>(network.classes);
  Network distinct = network;
  distinct.target_collision = std::numeric_limits<double>::min();
  const auto pairs = [&](double of) { return seeds * chance * of / 2; };
  return EqualTargets{propagate(distinct, propagation), pairs(batch * tokens * (tokens - 1)),
                      pairs(samples * (samples - 1))};
}

}  // namespace

Verification verify_network(const Network& network, const VerifyOptions& options) {
  check_range("seeds", options.seeds, fewest_seeds, most_seeds,
              "a standard error needs two seeds at least, for example 16");
  check_range("threads", options.threads, 1, most_threads, "for example 2");
  check_trace_memory(network, kComparedBytes + kSeedBytes * options.seeds);
  PropagateOptions propagation;
  propagation.threads = options.threads;
  const Trace predicted = propagate(network, propagation);
  const auto report = [&](double done) {
    return !options.progress || options.progress(done, fmt::format("{} seeds", options.seeds));
  };
  const PassSamples measured = shared_samples(network, options, report);
  const std::optional<EqualTargets> equal =
      equal_targets(network, predicted, propagation, options.seeds);
  return compare(predicted, measured,
                 {options.confidence, options.single_precision, equal ? &*equal : nullptr,
                  network.batch, network.loss == Loss::mse});
}

}  // namespace scalecalc
