#include "base/deadline.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <string>

#include "base/workers.hpp"

namespace scalecalc::base {
namespace {

using Time = Deadline::Clock::time_point;

/// What check_deadline() throws; empty: nothing.
std::string said() {
  try {
    check_deadline();
    return {};
  } catch (const DeadlinePassed& passed) {
    return passed.what();
  }
}

TEST_CASE("a deadline that has passed is told with its reason, for as long as it lives") {
  CHECK(said().empty());
  {
    const Deadline passed(Time::min(), "too late");
    CHECK(said() == "too late");
  }
  CHECK(said().empty());
  const Deadline far(Time::max(), "never");
  CHECK(said().empty());
}

TEST_CASE("of deadlines within each other the earliest holds") {
  const Deadline far(Time::max(), "never");
  {
    const Deadline passed(Time::min(), "outer");
    const Deadline inner(Time::max(), "inner");
    CHECK(said() == "outer");
    CHECK(inner.at() == Time::min());
  }
  const Deadline passed(Time::min(), "inner");
  CHECK(said() == "inner");
}

TEST_CASE("workers have the deadline of the thread that starts them") {
  Workers workers;
  std::atomic<int> late = 0;
  const auto look = [&] { late += said().empty() ? 0 : 1; };
  std::optional<Deadline> passed(std::in_place, Time::min(), "too late");
  workers.run(4, look);
  CHECK(late == 4);
  passed.reset();
  workers.run(4, look);
  CHECK(late == 4);
}

TEST_CASE("what a worker throws for a deadline reaches the caller") {
  const Deadline passed(Time::min(), "too late");
  Workers workers;
  CHECK_THROWS_AS(workers.run(3, check_deadline), DeadlinePassed);
}

}  // namespace
}  // namespace scalecalc::base
