#include "base/workers.hpp"

#include <thread>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/threads.hpp"

namespace scalecalc::base {

void Workers::guarded(const std::function<void()>& work) noexcept {
  try {
    work();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = std::current_exception();
    stopped_ = true;
  }
}

void Workers::run(int count, const std::function<void()>& work) {
  const Deadline* deadline = Deadline::current();
  std::vector<std::thread> others;
  const auto start = [this, &work, deadline] {
    const InheritedDeadline inherited(deadline);
    guarded(work);
  };
  for (int i = 1; i < count && start_thread(others, start); ++i) continue;
  guarded(work);
  for (std::thread& thread : others) thread.join();
  if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
}

}  // namespace scalecalc::base
