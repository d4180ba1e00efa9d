#include "base/deadline.hpp"

#include "base/stop.hpp"

namespace scalecalc::base {

constinit thread_local const Deadline* Deadline::current_ = nullptr;

Deadline::Deadline(Clock::time_point at, std::string reason)
    : at_(at), reason_(std::move(reason)), outer_(current_) {
  if (outer_ != nullptr && outer_->at_ <= at_) {
    at_ = outer_->at_;
    reason_ = outer_->reason_;
  }
  current_ = this;
}

void Deadline::check() const {
  if (is_stop_requested()) throw Stopped();
  if (Clock::now() >= at_) throw DeadlinePassed(reason_);
}

}  // namespace scalecalc::base
