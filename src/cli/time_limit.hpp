#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"

namespace CLI {
class App;
}

/// --time-limit of the commands whose answer may take long: expectations of a user's expression,
/// and propagation through a network.
namespace scalecalc::cli {

class TimeLimit {
 public:
  /// `seconds` is the limit unless one is given; empty: none.
  explicit TimeLimit(std::string seconds) : text_(std::move(seconds)) {}
  void add_to(CLI::App* app, const std::string& help);
  /// Begins the time. Throws Error(input) for what is no number of seconds.
  void begin();

  /// What comes last has an eighth of the limit, if less is left.
  void leave_an_eighth();
  /// body() under the limit. Throws base::DeadlinePassed.
  template <class Body>
  auto within(Body body) const {
    std::optional<base::Deadline> deadline;
    if (!reason_.empty()) deadline.emplace(last_end_, reason_);
    return body();
  }

  using Time = base::Deadline::Clock::time_point;
  Time start() const { return start_; }
  Time end() const { return end_; }
  /// "not found in the time limit of 4 s".
  const std::string& reason() const { return reason_; }
  /// "the time limit of 4 s was reached; --time-limit 40 allows more".
  std::string note() const;

 private:
  std::string text_, reason_;
  Time start_, end_, last_end_;
};

/// A part of an answer: `find` may be called again after a deadline has passed in it; `miss` is
/// told why the part is not there.
struct TimedPart {
  std::function<void()> find;
  std::function<void(const std::string& reason)> miss;
};

/// Finds the parts one after the other in three quarters of the time. Those it does not suffice for
/// have one more try in an equal share each of what is left, so that one alone takes no time from
/// all behind it. Whether all were found.
bool find_in_time(const TimeLimit& limit, const std::vector<TimedPart>& parts);

}  // namespace scalecalc::cli
