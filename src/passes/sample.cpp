#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <new>

#include "base/workers.hpp"
#include "network/memory.hpp"
#include "passes/measure_pass.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc {
namespace {

using passes::MeasuredPass;
using passes::Plan;

constexpr int kMaxSeeds = 100000;

/// All seeds of one network, on several threads. Each pass writes to a place of its own.
class Sampler {
 public:
  Sampler(const Network& network, const PassOptions& options, int seeds, bool single_precision,
          const std::function<bool(double)>& progress)
      : plan_(std::make_shared<const Plan>(network)),
        options_(options),
        single_(single_precision),
        progress_(progress),
        passes_(static_cast<std::size_t>(seeds)) {
    const auto device = tensor::make_device<float>(options.device, options.threads);
    const std::size_t entry_bytes = single_ ? sizeof(float) : sizeof(double);
    const passes::Footprint& footprint = plan_->checked.footprint;
    passes::check_memory(footprint, entry_bytes, options.recompute, device->bytes_there(),
                         device->name());
    const PassWork work = footprint.work(seeds, entry_bytes, options.recompute);
    if (options.expect) options.expect(work);
    const double fits = std::max(1.0, std::floor(passes::kConcurrentBytes / work.bytes));
    threads_ = static_cast<int>(
        std::min({fits, static_cast<double>(options.threads), static_cast<double>(seeds)}));
    threads_ = std::max(threads_, 1);
  }

  std::vector<MeasuredPass> run() {
    workers_.run(threads_, [this] { work(); });
    return std::move(passes_);
  }

 private:
  void work() {
    try {
      single_ ? measure_seeds<float>() : measure_seeds<double>();
    } catch (const std::bad_alloc&) {
      throw Error(ErrorKind::fault, "out of memory during a pass", "passes",
                  "use fewer layers, a smaller width or fewer threads");
    }
  }

  /// One device for all passes of a thread: it keeps their memory.
  template <class Real>
  void measure_seeds() {
    const int threads = threads_ > 1 ? std::max(1, options_.threads / threads_) : options_.threads;
    const auto device = tensor::make_device<Real>(options_.device, threads);
    for (std::size_t i = next_++; i < passes_.size() && !workers_.stopped(); i = next_++) {
      double reported = 0;
      const auto advance = [this, &reported](double share) {
        report(share - reported);
        reported = share;
      };
      passes_[i] =
          passes::measure_pass<Real>(plan_, options_.seed + i, device, options_.recompute, advance);
      if (i > 0) passes_[i].names = {};  // they are those of the first
      advance(1);
    }
  }

  [[noreturn]] static void interrupt() { throw Error(ErrorKind::fault, "interrupted", "passes"); }

  /// Of one pass so much more is done.
  void report(double share) {
    const std::lock_guard lock(mutex_);
    if (workers_.stopped()) interrupt();
    done_ += share;
    if (!progress_) return;
    if (progress_(std::min(1.0, done_ / static_cast<double>(passes_.size())))) return;
    workers_.stop();  // still under the lock: nobody is asked again
    interrupt();
  }

  std::shared_ptr<const Plan> plan_;
  const PassOptions& options_;
  bool single_;
  const std::function<bool(double)>& progress_;
  std::vector<MeasuredPass> passes_;
  int threads_ = 1;  ///< that passes run on at a time
  base::Workers workers_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  double done_ = 0;  ///< passes
};

void add_sites(const std::vector<MeasuredPass>& passes, std::vector<SiteSamples>& sites) {
  for (std::size_t i = 0; i < passes.front().names.size(); ++i) {
    const passes::SiteName& name = passes.front().names[i];
    SiteSamples& site = sites.emplace_back();
    site.path = name.path;
    site.kind = name.kind;
    site.width = name.width;
    site.tokens = name.tokens;
    for (const MeasuredPass& pass : passes) {
      site.mean.push_back(pass.values[i].mean);
      site.second.push_back(pass.values[i].second);
      site.cross.push_back(pass.values[i].cross);
      site.grad_second.push_back(pass.gradients[i].second);
      site.grad_cross.push_back(pass.gradients[i].cross);
    }
  }
}

void add_parameters(const Network& network, const std::vector<MeasuredPass>& passes,
                    std::vector<ParameterSamples>& parameters) {
  for (const ParameterInfo& info : scalecalc::parameters(network)) {
    const std::size_t index = parameters.size();
    ParameterSamples& parameter = parameters.emplace_back();
    parameter.path = info.path;
    parameter.rows = info.rows;
    parameter.columns = info.columns;
    for (const MeasuredPass& pass : passes) {
      parameter.second.push_back(pass.parameters[index].second);
      parameter.grad_second.push_back(pass.parameters[index].grad_second);
    }
  }
}

}  // namespace

PassSamples sample_passes(const Network& network, const PassOptions& options, int seeds,
                          bool single_precision, const std::function<bool(double done)>& progress) {
  if (seeds < 1 || seeds > kMaxSeeds) {
    throw Error(ErrorKind::input, "the number of seeds is " + std::to_string(seeds), "passes",
                "use 1 to " + std::to_string(kMaxSeeds));
  }
  check_trace_memory(network, kComparedBytes + kSeedBytes * seeds);
  const std::vector<MeasuredPass> passes =
      Sampler(network, options, seeds, single_precision, progress).run();
  PassSamples samples;
  add_sites(passes, samples.sites);
  add_parameters(network, passes, samples.parameters);
  for (const MeasuredPass& pass : passes) samples.loss.push_back(pass.loss);
  return samples;
}

}  // namespace scalecalc
