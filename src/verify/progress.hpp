#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "scalecalc/verify.hpp"

namespace scalecalc {

/// Sums the shares of many tasks that run on several threads into one progress report.
class ProgressMeter {
 public:
  explicit ProgressMeter(Progress progress) : progress_(std::move(progress)) {}

  /// A task of this cost. Its reporter takes the share done, 0..1, from any thread, and throws
  /// Error(fault) once the receiver has asked to stop. Add all tasks before the first report.
  std::function<void(double share)> add(double cost, std::string what);
  /// Reports that nothing is done yet.
  void start();
  /// Runs one task's work; when it throws, the other tasks are stopped at their next report.
  template <class Work>
  void stop_on_failure(Work work) {
    try {
      work();
    } catch (...) {
      stop();
      throw;
    }
  }

 private:
  struct Task {
    double cost;
    std::string what;
    double share = 0;
  };

  void advance(std::size_t index, double share);
  void stop();
  void report(const std::string& what);

  Progress progress_;
  std::mutex mutex_;
  std::vector<Task> tasks_;
  double total_ = 0, done_ = 0;
  bool stopped_ = false;
};

}  // namespace scalecalc
