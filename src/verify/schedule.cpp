#include "verify/schedule.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace scalecalc {
namespace {

class Scheduler {
 public:
  Scheduler(const std::vector<Job>& jobs, double budget)
      : jobs_(jobs), budget_(budget), taken_(jobs.size(), false) {}

  /// What each thread does.
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return finished() || next() < jobs_.size(); });
      if (finished()) return;
      const std::size_t index = next();
      start(index);
      lock.unlock();
      const std::exception_ptr failure = run(jobs_[index]);
      lock.lock();
      end(index, failure);
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static std::exception_ptr run(const Job& job) {
    try {
      job.work();
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  bool finished() const { return failure_ != nullptr || started_ == jobs_.size(); }

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

  void end(std::size_t index, std::exception_ptr failure) {
    --running_;
    used_ = running_ == 0 ? 0 : used_ - jobs_[index].bytes;
    if (failure && !failure_) failure_ = std::move(failure);
    changed_.notify_all();
  }

  const std::vector<Job>& jobs_;
  double budget_, used_ = 0;
  std::vector<bool> taken_;
  std::size_t started_ = 0, running_ = 0;
  std::exception_ptr failure_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace

void run_jobs(const std::vector<Job>& jobs, int threads, double budget) {
  Scheduler scheduler(jobs, budget);
  std::vector<std::thread> others;
  const std::size_t wanted = std::min(jobs.size(), static_cast<std::size_t>(std::max(threads, 1)));
  for (std::size_t i = 1; i < wanted; ++i) others.emplace_back([&scheduler] { scheduler.work(); });
  scheduler.work();
  for (std::thread& thread : others) thread.join();
  scheduler.rethrow();
}

}  // namespace scalecalc
