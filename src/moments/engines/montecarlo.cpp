#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>

#include "base/workers.hpp"
#include "moments/engines/sampled.hpp"
#include "moments/trace_of.hpp"

namespace scalecalc {
namespace moments {
namespace {

/// Enough for a standard error that is itself known to an eighth.
constexpr std::int64_t kReplicates = 32;
constexpr std::int64_t kLargest = std::int64_t{1} << 32;

void check_options(const MonteCarloPropagation& options) {
  if (options.samples < 2 * kReplicates || options.samples > kLargest)
    throw Error(ErrorKind::input,
                fmt::format("samples must be from {} to {}, got {}", 2 * kReplicates, kLargest,
                            options.samples),
                "samples", "for example 65536");
  if (options.threads < 1 || options.threads > 1024)
    throw Error(ErrorKind::input,
                fmt::format("threads must be from 1 to 1024, got {}", options.threads), "threads",
                "for example 2");
}

int at_a_time(const MonteCarloPropagation& options) {
  return static_cast<int>(std::min<std::int64_t>(options.threads, kReplicates));
}

Trace replicate(const Network& network, const MonteCarloPropagation& options, std::int64_t samples,
                std::int64_t index) {
  Sampled calculus({}, samples, options.seed, static_cast<std::uint64_t>(index));
  return trace_by(calculus, network);
}

/// By the line through the times of two replicates of few samples, the second of at least a
/// twentieth of a second: a part of the time does not grow with the samples.
double expected_seconds(const Network& network, const MonteCarloPropagation& options) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_of = [&](std::int64_t samples) {
    const auto start = Clock::now();
    replicate(network, options, samples, 0);
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const std::int64_t all = options.samples / kReplicates, few = std::min<std::int64_t>(64, all);
  const double rounds = std::ceil(static_cast<double>(kReplicates) / at_a_time(options));
  const double first = seconds_of(few);
  double added = 0, each = 0;
  for (std::int64_t samples = 4 * few; each < 0.05 && samples < all; samples *= 4) {
    each = seconds_of(samples);
    added = std::max(each - first, 0.0) / static_cast<double>(samples - few);
  }
  return rounds * (first + added * static_cast<double>(all - few));
}

/// The replicates, in their order whatever the threads.
std::vector<Trace> run_replicates(const Network& network, const MonteCarloPropagation& options) {
  std::vector<Trace> traces(kReplicates);
  std::vector<std::exception_ptr> failures(kReplicates);
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;
  std::int64_t done = 0;
  base::Workers().run(at_a_time(options), [&] {
    for (std::int64_t i = next++; i < kReplicates; i = next++) {
      const auto at = static_cast<std::size_t>(i);
      try {
        traces[at] = replicate(network, options, options.samples / kReplicates, i);
      } catch (...) {
        failures[at] = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      ++done;
      if (options.progress)
        options.progress(static_cast<double>(done) / static_cast<double>(kReplicates));
    }
  });
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return traces;
}

/// Mean and standard error over the replicates of one number of a trace.
template <class Pick>
Figure figure_over(const std::vector<Trace>& traces, const Pick& pick) {
  const auto count = static_cast<double>(traces.size());
  double mean = 0, truncation = 0, squares = 0;
  for (const Trace& trace : traces) {
    mean += pick(trace).value / count;
    truncation += pick(trace).truncation / count;
  }
  for (const Trace& trace : traces) {
    const double apart = pick(trace).value - mean;
    squares += apart * apart;
  }
  return {mean, std::sqrt(squares / (count - 1) / count), truncation};
}

template <class Pick>
double mean_over(const std::vector<Trace>& traces, const Pick& pick) {
  double sum = 0;
  for (const Trace& trace : traces) sum += pick(trace);
  return sum / static_cast<double>(traces.size());
}

void join_site(const std::vector<Trace>& traces, std::size_t i, Site& site) {
  for (Figure Site::*member :
       {&Site::mean, &Site::second, &Site::cross, &Site::grad_second, &Site::grad_cross})
    site.*member = figure_over(traces, [&](const Trace& t) { return t.sites[i].*member; });
  for (NonNegative Site::*member : {&Site::spread, &Site::grad_spread})
    site.*member = mean_over(traces, [&](const Trace& t) { return t.sites[i].*member; });
  for (double Site::*member :
       {&Site::second_finite, &Site::second_typical, &Site::grad_second_finite})
    site.*member = mean_over(traces, [&](const Trace& t) { return t.sites[i].*member; });
}

Trace joined(const std::vector<Trace>& traces) {
  Trace trace = traces.front();
  trace.engine = "montecarlo";
  for (std::size_t i = 0; i < trace.sites.size(); ++i) join_site(traces, i, trace.sites[i]);
  for (std::size_t i = 0; i < trace.parameters.size(); ++i) {
    trace.parameters[i].grad_second =
        figure_over(traces, [&](const Trace& t) { return t.parameters[i].grad_second; });
    trace.parameters[i].grad_spread =
        mean_over(traces, [&](const Trace& t) { return t.parameters[i].grad_spread; });
    trace.parameters[i].grad_second_finite =
        mean_over(traces, [&](const Trace& t) { return t.parameters[i].grad_second_finite; });
  }
  trace.loss = figure_over(traces, [](const Trace& t) { return t.loss; });
  Premise drawn;
  drawn.rule = "montecarlo";
  drawn.text = fmt::format(
      "errors are standard errors over {} independent propagations; integrated, not sampled, stay "
      "the softmax averages of rows under a mask, what multiplies 1/width, and the loss",
      kReplicates);
  trace.assumptions.push_back(std::move(drawn));
  return trace;
}

}  // namespace
}  // namespace moments

Trace propagate_montecarlo(const Network& network, const MonteCarloPropagation& options) {
  moments::check_options(options);
  if (options.expect) options.expect(moments::expected_seconds(network, options));
  return moments::joined(moments::run_replicates(network, options));
}

}  // namespace scalecalc
