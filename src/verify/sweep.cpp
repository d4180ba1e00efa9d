#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "cluster/bytes.hpp"
#include "scalecalc/passes.hpp"
#include "verify/measure.hpp"
#include "verify/memory.hpp"
#include "verify/predicted_sweep.hpp"
#include "verify/progress.hpp"
#include "verify/schedule.hpp"
#include "verify/statistics.hpp"
#include "verify/sweep_models.hpp"

namespace scalecalc {
namespace {

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
  for (const Expr& update : {options.update, options.rest ? options.rest->update : options.update})
    update_direction<double>(update, {&entry, 1, 1}, {&entry, 1, 1}, 1.0, &step);
}

void check_options(const SweepOptions& options) {
  check_range("seeds", options.seeds, max_seeds);
  check_range("threads", options.threads, max_threads);
  if (!std::isfinite(options.eta) || options.eta < 0)
    throw Error(ErrorKind::input, fmt::format("eta must be positive, got {}", options.eta), "sweep",
                "leave it out to have one chosen");
  check_update(options);
}

void check_counted(const Network& network, const SweepOptions& options) {
  for (const ParameterInfo& info : parameters(network))
    if (info.is_matrix && counts(info, options.parameters)) return;
  throw Error(ErrorKind::input, "the network has no weight matrix inside a residual branch",
              "sweep", "use all parameters, or more layers");
}

/// One depth or width: the network that all its seeds share.
struct Size {
  Network network;
  PassWork work;  ///< of one seed
  double cost = 0;
};

Size lay_out(const SweepOptions& options, const ModelSpec& spec) {
  check_bytes(layout_bytes(spec.layers), spec.layers);
  Size size;
  size.network = build_network(spec);
  check_counted(size.network, options);
  size.work = measurement_work(size.network, options);
  check_bytes(size.work.bytes, spec.layers);
  return size;
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

/// All sizes and seeds of one sweep, the largest first. Each job writes to a place of its own.
class Sweep {
 public:
  explicit Sweep(const SweepOptions& options)
      : options_(options),
        ranks_(options.ranks != nullptr ? *options.ranks : one_),
        device_(device_here(options.device, options.ranks)),
        meter_(options.progress) {
    result_.by_width = !options.widths.empty();
    const std::vector<ModelSpec> models = sweep_models(options);
    for (const ModelSpec& model : models) {
      sizes_.push_back(lay_out(options, model));
      sizes_.back().cost = relative_work(model, models.front());
      result_.points.push_back(sweep_point(model, options));
      result_.points.back().samples.resize(static_cast<std::size_t>(options.seeds));
    }
  }

  SweepResult run() {
    std::vector<double> costs;
    for (std::size_t at = sizes_.size(); at-- > 0;)
      costs.insert(costs.end(), static_cast<std::size_t>(options_.seeds), sizes_[at].cost);
    owners_ = deal(costs, ranks_.size());
    if (options_.expect) options_.expect(work());
    share([this] { run_own(); });
    summarise(result_);
    return std::move(result_);
  }

 private:
  PassWork work() const {
    PassWork all{.single_precision = in_single_precision(options_)};
    for (const Size& size : sizes_) {
      all.operations += options_.seeds * size.work.operations;
      all.bytes = std::max(all.bytes, size.work.bytes);
    }
    return all;
  }

  /// `visit(size, seed)` for what this rank measures, or another does.
  template <class Visit>
  void each_of(int rank, Visit visit) const {
    std::size_t at = 0;
    for (std::size_t size = sizes_.size(); size-- > 0;)
      for (int seed = 0; seed < options_.seeds; ++seed)
        if (owners_[at++] == rank) visit(size, seed);
  }

  double& sample(std::size_t size, int seed) {
    return result_.points[size].samples[static_cast<std::size_t>(seed)];
  }

  void run_own() {
    std::size_t count = 0;
    each_of(ranks_.rank(), [&count](std::size_t, int) { ++count; });
    std::vector<Job> jobs;
    each_of(ranks_.rank(),
            [&](std::size_t size, int seed) { jobs.push_back(job(size, seed, count)); });
    meter_.start();
    run_jobs(jobs, options_.threads, concurrent_bytes());
  }

  /// Does the work of this rank, and takes the samples of all.
  template <class Work>
  void share(Work work) {
    const std::vector<std::string> all = ranks_.gather([&] {
      work();
      cluster::Writer own;
      each_of(ranks_.rank(), [&](std::size_t size, int seed) { own.put(sample(size, seed)); });
      return own.take();
    });
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      cluster::Reader reader(all[static_cast<std::size_t>(rank)]);
      each_of(rank, [&](std::size_t size, int seed) { sample(size, seed) = reader.get<double>(); });
    }
  }

  Measurement measurement(std::size_t size, int seed, std::size_t jobs) {
    Measurement one;
    one.quantity = options_.quantity;
    one.update = options_.update;
    one.rest = options_.rest;
    one.parameters = options_.parameters;
    one.eta = options_.eta;
    one.seed = options_.seed + static_cast<std::uint64_t>(seed);
    one.threads = threads_of_pass(options_, jobs, sizes_[size].work.bytes);
    one.device = device_;
    one.recompute = options_.recompute;
    one.advance = meter_.add(sizes_[size].cost,
                             fmt::format("{}, seed {}", size_text(result_.points[size]), seed + 1));
    return one;
  }

  Job job(std::size_t size, int seed, std::size_t jobs) {
    double& result = sample(size, seed);
    const Network& network = sizes_[size].network;
    return {sizes_[size].work.bytes,
            [this, &result, &network, one = measurement(size, seed, jobs)] {
              meter_.stop_on_failure([&] {
                result = measure_one(options_, network, one);
                one.advance(1.0);
              });
            }};
  }

  const SweepOptions& options_;
  OneRank one_;
  Ranks& ranks_;
  std::string device_;
  ProgressMeter meter_;
  std::vector<Size> sizes_;
  std::vector<int> owners_;  ///< of the jobs, in their order
  SweepResult result_;
};

}  // namespace

SweepResult sweep(const SweepOptions& options) {
  check_options(options);
  if (options.engine == SweepEngine::quadrature) return predicted_sweep(options);
  return Sweep(options).run();
}

}  // namespace scalecalc
