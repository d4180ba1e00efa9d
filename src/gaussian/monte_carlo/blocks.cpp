#include "gaussian/monte_carlo/blocks.hpp"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "base/deadline.hpp"
#include "base/workers.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::gaussian::monte_carlo {
namespace {

constexpr std::int64_t kMostSamples = 1000000000000;
constexpr int kMostThreads = 1024;
/// Blocks joined at a time, so that memory does not grow with the samples.
constexpr std::int64_t kGroup = 4096;

void run_group(std::int64_t first, std::int64_t count, int threads,
               const std::function<Worker()>& make_worker, std::vector<std::vector<Tally>>& out) {
  std::atomic<std::int64_t> next = 0;
  base::Workers workers;
  workers.run(threads, [&] {
    const Worker worker = make_worker();
    for (std::int64_t k = next++; k < count && !workers.stopped(); k = next++) {
      base::check_deadline();
      out[static_cast<std::size_t>(k)] = worker(first + k);
    }
  });
}

}  // namespace

void check_options(const MonteCarloOptions& options) {
  if (options.samples < 1 || options.samples > kMostSamples) {
    throw Error(ErrorKind::input, fmt::format("{} samples", options.samples), "samples",
                fmt::format("from 1 to {}", kMostSamples));
  }
  if (options.threads < 1 || options.threads > kMostThreads) {
    throw Error(ErrorKind::input, fmt::format("{} threads", options.threads), "threads",
                fmt::format("from 1 to {}", kMostThreads));
  }
}

std::vector<Tally> run_blocks(std::int64_t blocks, int threads, std::size_t quantities,
                              const std::function<Worker()>& make_worker) {
  std::vector<Tally> total(quantities);
  for (std::int64_t first = 0; first < blocks; first += kGroup) {
    const std::int64_t count = std::min(kGroup, blocks - first);
    std::vector<std::vector<Tally>> results(static_cast<std::size_t>(count));
    run_group(first, count, static_cast<int>(std::min<std::int64_t>(threads, count)), make_worker,
              results);
    std::vector<Tally> column(results.size());
    for (std::size_t q = 0; q < quantities; ++q) {
      for (std::size_t k = 0; k < results.size(); ++k) column[k] = results[k][q];
      total[q] = join(total[q], join(column));
    }
  }
  return total;
}

}  // namespace scalecalc::gaussian::monte_carlo
