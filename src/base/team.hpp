#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace scalecalc::base {

/// Threads that share out loops too short to start threads for each: they wait between them.
class Team {
 public:
  Team() = default;
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// That of the calling thread, which ends with it.
  static Team& of_this_thread();

  /// body(begin, end) for consecutive parts of 0 .. count, one a thread: the caller and as many
  /// others as make `threads`, fewer where the system has no more. A body that calls it again goes
  /// on alone. Rethrows an exception that left a body when all have ended.
  template <class Body>
  void share_out(int threads, std::int64_t count, const Body& body) {
    run(threads, {[](const void* self, std::int64_t begin, std::int64_t end) {
                    (*static_cast<const Body*>(self))(begin, end);
                  },
                  &body, count, 1});
  }

 private:
  struct Loop {
    void (*call)(const void* body, std::int64_t begin, std::int64_t end) = nullptr;
    const void* body = nullptr;
    std::int64_t count = 0;
    int parts = 1;
  };

  void run(int threads, Loop loop);
  void grow(std::size_t others);
  void help(int part, int round);
  void do_part(int part) noexcept;

  std::vector<std::thread> others_;
  bool can_grow_ = true, ends_ = false;
  static constexpr std::size_t kCacheLine = 64;  ///< bytes; what one thread writes and others watch

  Loop loop_;
  /// Counts the loops; the others wait for its change.
  alignas(kCacheLine) std::atomic<int> round_ = 0;
  /// Of the others, in this loop; each takes itself off, while those that have ended watch round_.
  alignas(kCacheLine) std::atomic<int> busy_ = 0;
  /// Looks at a number that is waited for before the thread sleeps.
  alignas(kCacheLine) std::atomic<int> spins_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace scalecalc::base
