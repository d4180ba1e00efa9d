#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "library.hpp"

namespace scalecalc::package {

/// How much of a command's work is done, and what it does.
struct Done {
  double share = 0;
  std::string what;
};

/// One command on a thread of its own, so that the thread that asked can look for signals. Threads
/// that the work keeps end with it: nothing is left for a fork to lose.
class Job {
 public:
  explicit Job(std::vector<std::string> words)
      : words_(std::move(words)), thread_([this] { work(); }) {}
  ~Job() {
    if (thread_.joinable()) thread_.join();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Whether it has ended within that time.
  bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, time, [this] { return is_done_; });
  }
  /// What was told since it was asked for last.
  std::optional<Done> progress() {
    const std::lock_guard lock(mutex_);
    return std::exchange(told_, std::nullopt);
  }
  /// It ends soon.
  void stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    request_stop();
  }
  /// Once it has ended. Throws what the command threw.
  cli::Reply take() {
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
    return std::move(reply_);
  }

 private:
  void work() noexcept {
    const auto tell = [this](double share, const std::string& what) {
      const std::lock_guard lock(mutex_);
      told_ = Done{share, what};
      return !is_stopped_;
    };
    try {
      reply_ = call(words_, tell);
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    ended_.notify_all();
  }

  std::vector<std::string> words_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_done_ = false, is_stopped_ = false;
  std::optional<Done> told_;
  cli::Reply reply_;
  std::exception_ptr failure_;
  std::thread thread_;  ///< last: it reads the others
};

}  // namespace scalecalc::package
