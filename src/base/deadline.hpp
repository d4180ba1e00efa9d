#pragma once

#include <chrono>
#include <exception>
#include <string>
#include <utility>

namespace scalecalc::base {

/// Leaves a computation whose Deadline has passed. It is no Error, so that nothing on the way takes
/// it for an answer; who sets a deadline catches it.
class DeadlinePassed : public std::exception {
 public:
  explicit DeadlinePassed(std::string reason) : reason_(std::move(reason)) {}
  const char* what() const noexcept override { return reason_.c_str(); }

 private:
  std::string reason_;
};

/// While it lives, check_deadline() on this thread, and on the Workers that this thread starts,
/// throws DeadlinePassed(reason) from `at` on. Where deadlines nest, the earliest holds. To be
/// destroyed on the thread that made it, the last first.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline(Clock::time_point at, std::string reason);
  ~Deadline() { current_ = outer_; }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  /// That of this thread, or null.
  static const Deadline* current() { return current_; }
  Clock::time_point at() const { return at_; }
  const std::string& reason() const { return reason_; }
  void check() const;

 private:
  friend class InheritedDeadline;

  Clock::time_point at_;
  std::string reason_;
  const Deadline* outer_;
  static constinit thread_local const Deadline* current_;
};

/// The deadline of the thread that has begun this one, on this one. To be outlived by it.
class InheritedDeadline {
 public:
  explicit InheritedDeadline(const Deadline* deadline) { Deadline::current_ = deadline; }
  ~InheritedDeadline() { Deadline::current_ = nullptr; }
  InheritedDeadline(const InheritedDeadline&) = delete;
  InheritedDeadline& operator=(const InheritedDeadline&) = delete;
};

/// What is at most between two looks at the clock: one enclosure of a function in many digits, one
/// node of an expression, one panel of a quadrature, one site of a network.
inline void check_deadline() {
  if (const Deadline* deadline = Deadline::current()) deadline->check();
}

}  // namespace scalecalc::base
