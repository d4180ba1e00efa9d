#pragma once

#include <exception>

/// A caller's wish that work ends before it is done.
namespace scalecalc::base {

/// Leaves a computation that was stopped. It is no Error: nothing is wrong.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped"; }
};

/// From now on, until allow_work(), check_deadline() throws Stopped on every thread that has a
/// Deadline.
void request_stop() noexcept;
void allow_work() noexcept;
bool is_stop_requested() noexcept;

}  // namespace scalecalc::base
