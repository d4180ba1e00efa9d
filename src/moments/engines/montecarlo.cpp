#include <fmt/format.h>

#include <algorithm>
#include <array>
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
/// Of one propagation, which keeps 64 bytes of each: of a replicate of more samples, propagations
/// of so many are averaged. Their bias is of the order of a sample's variance over this.
constexpr std::int64_t kMostAtOnce = std::int64_t{1} << 18;

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

/// The numbers of a trace that are averaged over propagations.
constexpr std::array kSiteFigures = {&Site::mean, &Site::second, &Site::cross, &Site::grad_second,
                                     &Site::grad_cross};
constexpr std::array kSiteSpreads = {&Site::spread, &Site::grad_spread};
constexpr std::array kSiteValues = {&Site::second_finite, &Site::second_typical,
                                    &Site::grad_second_finite};

/// Infinite ones stay so.
template <class Number>
void blend(Number& mean, const Number& next, double share) {
  mean = (1 - share) * mean + share * next;
}
void blend(Figure& mean, const Figure& next, double share) {
  blend(mean.value, next.value, share);
  blend(mean.truncation, next.truncation, share);
}

/// `share` of the next one in a mean.
void blend(Trace& mean, const Trace& next, double share) {
  for (std::size_t i = 0; i < mean.sites.size(); ++i) {
    const auto each = [&](const auto& members) {
      for (const auto member : members) blend(mean.sites[i].*member, next.sites[i].*member, share);
    };
    each(kSiteFigures);
    each(kSiteSpreads);
    each(kSiteValues);
  }
  for (std::size_t i = 0; i < mean.parameters.size(); ++i) {
    blend(mean.parameters[i].grad_second, next.parameters[i].grad_second, share);
    blend(mean.parameters[i].grad_spread, next.parameters[i].grad_spread, share);
    blend(mean.parameters[i].grad_second_finite, next.parameters[i].grad_second_finite, share);
  }
  blend(mean.loss, next.loss, share);
}

/// How many propagations a replicate is the mean of.
std::int64_t parts_of(std::int64_t samples) {
  return (samples + kMostAtOnce - 1) / kMostAtOnce;
}

Trace propagated(const Network& network, const MonteCarloPropagation& options, std::int64_t samples,
                 std::int64_t index) {
  Sampled calculus({}, samples, options.seed, static_cast<std::uint64_t>(index));
  return trace_by(calculus, network);
}

/// Calls `after_each` after each propagation.
template <class AfterEach>
Trace replicate(const Network& network, const MonteCarloPropagation& options, std::int64_t index,
                const AfterEach& after_each) {
  const std::int64_t samples = options.samples / kReplicates, parts = parts_of(samples);
  Trace mean;
  for (std::int64_t part = 0; part < parts; ++part) {
    Trace next = propagated(network, options, samples / parts, index + part * kReplicates);
    if (part == 0)
      mean = std::move(next);
    else
      blend(mean, next, 1.0 / static_cast<double>(part + 1));
    after_each();
  }
  return mean;
}

/// By the line through the times of two propagations of few samples, the second of at least a
/// twentieth of a second: a part of the time does not grow with the samples.
double expected_seconds(const Network& network, const MonteCarloPropagation& options) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_of = [&](std::int64_t samples) {
    const auto start = Clock::now();
    propagated(network, options, samples, 0);
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const std::int64_t parts = parts_of(options.samples / kReplicates),
                     all = options.samples / kReplicates / parts,
                     few = std::min<std::int64_t>(64, all);
  const double rounds = std::ceil(static_cast<double>(kReplicates) / at_a_time(options));
  const double first = seconds_of(few);
  double added = 0, each = 0;
  for (std::int64_t samples = 4 * few; each < 0.05 && samples < all; samples *= 4) {
    each = seconds_of(samples);
    added = std::max(each - first, 0.0) / static_cast<double>(samples - few);
  }
  return rounds * static_cast<double>(parts) * (first + added * static_cast<double>(all - few));
}

/// The replicates, in their order whatever the threads.
std::vector<Trace> run_replicates(const Network& network, const MonteCarloPropagation& options) {
  std::vector<Trace> traces(kReplicates);
  std::vector<std::exception_ptr> failures(kReplicates);
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;
  std::int64_t done = 0;
  const std::int64_t all = kReplicates * parts_of(options.samples / kReplicates);
  const auto after_each = [&] {
    const std::lock_guard lock(mutex);
    ++done;
    if (options.progress) options.progress(static_cast<double>(done) / static_cast<double>(all));
  };
  base::Workers().run(at_a_time(options), [&] {
    for (std::int64_t i = next++; i < kReplicates; i = next++) {
      const auto at = static_cast<std::size_t>(i);
      try {
        traces[at] = replicate(network, options, i, after_each);
      } catch (...) {
        failures[at] = std::current_exception();
      }
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
  for (const auto member : kSiteFigures)
    site.*member = figure_over(traces, [&](const Trace& t) { return t.sites[i].*member; });
  for (const auto member : kSiteSpreads)
    site.*member = mean_over(traces, [&](const Trace& t) { return t.sites[i].*member; });
  for (const auto member : kSiteValues)
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
