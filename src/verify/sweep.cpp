#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "scalecalc/tensor.hpp"
#include "verify/measure.hpp"
#include "verify/memory.hpp"
#include "verify/progress.hpp"
#include "verify/schedule.hpp"
#include "verify/statistics.hpp"

namespace scalecalc {
namespace {

constexpr std::int64_t max_layers = 1000000;
constexpr int max_seeds = 10000, max_threads = 1024;

void check_range(const char* name, std::int64_t value, std::int64_t last) {
  if (value >= 1 && value <= last) return;
  throw Error(ErrorKind::input, fmt::format("{} must be from 1 to {}, got {}", name, last, value),
              "sweep", fmt::format("use 1 to {}", last));
}

/// Reads the rule on a matrix of one entry, so that a wrong one fails before any pass.
void check_update(const SweepOptions& options) {
  if (!needs_update(options.quantity)) return;
  const double entry = 1;
  double step = 0;
  update_direction<double>(options.update, {&entry, 1, 1}, {&entry, 1, 1}, 1.0, &step);
}

void check_options(const SweepOptions& options) {
  if (options.layers.empty())
    throw Error(ErrorKind::input, "no depth to measure at", "sweep", "for example 2,8,32");
  for (const std::int64_t layers : options.layers) check_range("layers", layers, max_layers);
  check_range("seeds", options.seeds, max_seeds);
  check_range("threads", options.threads, max_threads);
  if (!std::isfinite(options.eta) || options.eta < 0)
    throw Error(ErrorKind::input, fmt::format("eta must be positive, got {}", options.eta), "sweep",
                "leave it out to have one chosen");
  check_update(options);
}

std::vector<std::int64_t> rising_depths(std::vector<std::int64_t> depths) {
  std::sort(depths.begin(), depths.end());
  depths.erase(std::unique(depths.begin(), depths.end()), depths.end());
  return depths;
}

void check_counted(const Network& network, const SweepOptions& options) {
  for (const ParameterInfo& info : parameters(network))
    if (info.is_matrix && counts(info, options.parameters)) return;
  throw Error(ErrorKind::input, "the network has no weight matrix inside a residual branch",
              "sweep", "use all parameters, or more layers");
}

/// One depth: the network that all its seeds share.
struct Depth {
  Network network;
  double bytes = 0;
};

Depth lay_out(const SweepOptions& options, SweepPoint& point) {
  ModelSpec spec = options.model;
  spec.layers = point.layers;
  check_bytes(layout_bytes(point.layers), point.layers);
  Depth depth;
  depth.network = build_network(spec);
  const Bindings at = {{"N", static_cast<double>(point.layers)}};
  point.alpha = evaluate(*spec.alpha, at);
  point.lambda = evaluate(*spec.lambda, at);
  check_counted(depth.network, options);
  depth.bytes = measurement_bytes(depth.network, options);
  check_bytes(depth.bytes, point.layers);
  return depth;
}

/// All threads go to one pass only where too few passes can run at once.
int threads_of_pass(const SweepOptions& options, std::size_t jobs, double bytes) {
  const double at_once = std::clamp(std::floor(concurrent_bytes() / bytes), 1.0,
                                    static_cast<double>(std::max<std::size_t>(jobs, 1)));
  return std::max(1, static_cast<int>(options.threads / at_once));
}

double measure_one(const SweepOptions& options, const Network& network,
                   const Measurement& measurement) {
  try {
    return in_single_precision(options) ? measure<float>(network, measurement)
                                        : measure<double>(network, measurement);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::fault, "out of memory during a pass", "sweep",
                "use fewer layers, a smaller width or fewer threads");
  }
}

/// All depths and seeds of one sweep, the largest first. Each job writes to a place of its own.
class Sweep {
 public:
  explicit Sweep(const SweepOptions& options) : options_(options), meter_(options.progress) {
    for (const std::int64_t layers : rising_depths(options.layers)) {
      SweepPoint point;
      point.layers = layers;
      point.samples.resize(static_cast<std::size_t>(options.seeds));
      depths_.push_back(lay_out(options, point));
      result_.points.push_back(std::move(point));
    }
  }

  SweepResult run() {
    std::vector<Job> jobs;
    for (std::size_t depth = depths_.size(); depth-- > 0;)
      for (int seed = 0; seed < options_.seeds; ++seed) jobs.push_back(job(depth, seed));
    meter_.start();
    run_jobs(jobs, options_.threads, concurrent_bytes());
    summarise(result_);
    return std::move(result_);
  }

 private:
  Measurement measurement(std::size_t depth, int seed) {
    Measurement one;
    one.quantity = options_.quantity;
    one.update = options_.update;
    one.parameters = options_.parameters;
    one.eta = options_.eta;
    one.seed = options_.seed + static_cast<std::uint64_t>(seed);
    const std::size_t jobs = depths_.size() * static_cast<std::size_t>(options_.seeds);
    one.threads = threads_of_pass(options_, jobs, depths_[depth].bytes);
    one.device = options_.device;
    one.recompute = options_.recompute;
    const std::int64_t layers = result_.points[depth].layers;
    one.advance =
        meter_.add(static_cast<double>(layers), fmt::format("N = {}, seed {}", layers, seed + 1));
    return one;
  }

  Job job(std::size_t depth, int seed) {
    double& sample = result_.points[depth].samples[static_cast<std::size_t>(seed)];
    const Network& network = depths_[depth].network;
    return {depths_[depth].bytes, [this, &sample, &network, one = measurement(depth, seed)] {
              meter_.stop_on_failure([&] {
                sample = measure_one(options_, network, one);
                one.advance(1.0);
              });
            }};
  }

  const SweepOptions& options_;
  ProgressMeter meter_;
  std::vector<Depth> depths_;
  SweepResult result_;
};

}  // namespace

SweepResult sweep(const SweepOptions& options) {
  check_options(options);
  return Sweep(options).run();
}

}  // namespace scalecalc
