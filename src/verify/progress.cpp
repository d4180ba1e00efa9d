#include "verify/progress.hpp"

#include <algorithm>

namespace scalecalc {
namespace {

/// Shares closer than this to the last report of the same task are not reported.
constexpr double smallest_share = 0.01;

}  // namespace

std::function<void(double share)> ProgressMeter::add(double cost, std::string what) {
  const std::size_t index = tasks_.size();
  tasks_.push_back({cost, std::move(what)});
  total_ += cost;
  return [this, index](double share) { advance(index, share); };
}

void ProgressMeter::start() {
  const std::lock_guard lock(mutex_);
  if (!tasks_.empty()) report(tasks_.front().what);
}

void ProgressMeter::advance(std::size_t index, double share) {
  const std::lock_guard lock(mutex_);
  Task& task = tasks_[index];
  if (!stopped_ && share < 1 && share < task.share + smallest_share) return;
  done_ += task.cost * (share - task.share);
  task.share = share;
  report(task.what);
}

void ProgressMeter::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
}

void ProgressMeter::report(const std::string& what) {
  if (!stopped_ && progress_) stopped_ = !progress_(std::min(1.0, done_ / total_), what);
  if (stopped_) throw Error(ErrorKind::fault, "interrupted", "sweep");
}

}  // namespace scalecalc
