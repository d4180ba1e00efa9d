#include "base/team.hpp"

#include <algorithm>
#include <utility>

#include "base/threads.hpp"

namespace scalecalc::base {
namespace {

thread_local bool is_in_loop = false;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Looks at a number, some 20 to 70 ns each, before a thread sleeps: some milliseconds. Loops of a
/// pass follow each other within microseconds to a millisecond, and to wake a thread whose
/// processor sleeps, that of a virtual machine above all, takes up to half a millisecond.
constexpr int kSpins = 100'000;

/// Until the number is no longer `old`.
void await_change(const std::atomic<int>& number, int old, int spins) {
  for (int k = 0; k < spins; ++k) {
    if (number.load(std::memory_order_acquire) != old) return;
    pause();
  }
  while (number.load(std::memory_order_acquire) == old) number.wait(old);
}

}  // namespace

Team& Team::of_this_thread() {
  thread_local Team team;
  return team;
}

Team::~Team() {
  ends_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& other : others_) other.join();
}

void Team::grow(std::size_t others) {
  if (!can_grow_ || others_.size() >= others) return;
  while (can_grow_ && others_.size() < others) {
    const int part = static_cast<int>(others_.size()) + 1, round = round_;
    can_grow_ = start_thread(others_, [this, part, round] { help(part, round); });
  }
  // More threads than processors take the time from each other that they wait. Their number is read
  // from a file: not at each loop.
  const bool fits = others_.size() < std::thread::hardware_concurrency();
  spins_.store(fits ? kSpins : 0, std::memory_order_relaxed);
}

void Team::help(int part, int round) {
  is_in_loop = true;
  for (;;) {
    await_change(round_, round, spins_.load(std::memory_order_relaxed));
    round = round_.load(std::memory_order_acquire);
    if (ends_) return;
    do_part(part);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

void Team::do_part(int part) noexcept {
  if (part >= loop_.parts) return;
  const std::int64_t begin = loop_.count * part / loop_.parts;
  const std::int64_t end = loop_.count * (part + 1) / loop_.parts;
  try {
    loop_.call(loop_.body, begin, end);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
}

void Team::run(int threads, Loop loop) {
  const auto wanted = std::min<std::int64_t>(threads, loop.count);
  if (wanted > 1 && !is_in_loop) grow(static_cast<std::size_t>(wanted - 1));
  if (wanted <= 1 || is_in_loop || others_.empty()) return loop.call(loop.body, 0, loop.count);
  loop_ = loop;
  loop_.parts = static_cast<int>(std::min<std::int64_t>(wanted, std::ssize(others_) + 1));
  busy_.store(static_cast<int>(others_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  is_in_loop = true;
  do_part(0);
  is_in_loop = false;
  for (int left = busy_; left > 0; left = busy_) await_change(busy_, left, spins_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace scalecalc::base
