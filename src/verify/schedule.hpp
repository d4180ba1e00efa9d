#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace scalecalc {

struct Job {
  double bytes = 0;  ///< while it runs
  std::function<void()> work;
};

/// Runs all jobs, in this order, on up to `threads` threads, while the bytes of those that run stay
/// within `budget`; a job larger than the budget runs alone. After the first exception no job is
/// started, and it is rethrown once all threads have ended.
void run_jobs(const std::vector<Job>& jobs, int threads, double budget);

}  // namespace scalecalc
