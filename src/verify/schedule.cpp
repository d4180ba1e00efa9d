#include "verify/schedule.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/workers.hpp"

namespace scalecalc {
namespace {

class Scheduler {
 public:
  Scheduler(const std::vector<Job>& jobs, double budget)
      : jobs_(jobs), budget_(budget), taken_(jobs.size(), false) {}

  void run(int threads) {
    const std::size_t most = static_cast<std::size_t>(std::max(threads, 1));
    workers_.run(static_cast<int>(std::min(jobs_.size(), most)), [this] { work(); });
  }

 private:
  /// What each thread does.
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return finished() || next() < jobs_.size(); });
      if (finished()) return;
      const std::size_t index = next();
      start(index);
      lock.unlock();
      try {
        jobs_[index].work();
      } catch (...) {
        lock.lock();
        workers_.stop();
        end(index);
        throw;
      }
      lock.lock();
      end(index);
    }
  }

  bool finished() const { return workers_.stopped() || started_ == jobs_.size(); }

  /// The first job not yet taken that fits beside those that run.
  std::size_t next() const {
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (!taken_[i] && (running_ == 0 || used_ + jobs_[i].bytes <= budget_)) return i;
    return jobs_.size();
  }

  void start(std::size_t index) {
    taken_[index] = true;
    ++started_;
    ++running_;
    used_ += jobs_[index].bytes;
  }

  void end(std::size_t index) {
    --running_;
    used_ = running_ == 0 ? 0 : used_ - jobs_[index].bytes;
    changed_.notify_all();
  }

  const std::vector<Job>& jobs_;
  double budget_, used_ = 0;
  std::vector<bool> taken_;
  std::size_t started_ = 0, running_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  base::Workers workers_;
};

}  // namespace

void run_jobs(const std::vector<Job>& jobs, int threads, double budget) {
  if (!jobs.empty()) Scheduler(jobs, budget).run(threads);
}

}  // namespace scalecalc
