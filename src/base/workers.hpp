#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>

namespace scalecalc::base {

/// Threads that share out one piece of work: they stop after the first exception, which is handed
/// to the caller once all have ended. For one run() at a time.
class Workers {
 public:
  /// Calls `work` on this thread and on `count` - 1 others and waits for all; on fewer where the
  /// system has no more threads. `work` shares out what there is to do and looks at stopped().
  /// Rethrows the first exception that left a call of `work`.
  void run(int count, const std::function<void()>& work);

  /// Whether what is left is not to be begun: after an exception, or stop().
  bool stopped() const { return stopped_; }
  void stop() { stopped_ = true; }

 private:
  void guarded(const std::function<void()>& work) noexcept;

  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace scalecalc::base
