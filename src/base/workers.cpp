#include "base/workers.hpp"

#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/deadline.hpp"

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
  try {
    for (int i = 1; i < count; ++i)
      others.emplace_back([this, &work, deadline] {
        const InheritedDeadline inherited(deadline);
        guarded(work);
      });
  } catch (const std::system_error&) {
    // What there is to do goes on with the threads there are.
  }
  guarded(work);
  for (std::thread& thread : others) thread.join();
  if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
}

}  // namespace scalecalc::base
