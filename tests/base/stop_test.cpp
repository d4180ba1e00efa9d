#include "base/stop.hpp"

#include <doctest/doctest.h>

#include "base/deadline.hpp"
#include "base/workers.hpp"

namespace scalecalc::base {
namespace {

using Time = Deadline::Clock::time_point;

TEST_CASE("a stop leaves work under a deadline, on every thread, until work is allowed again") {
  Workers workers;
  {
    const Deadline far(Time::max(), "never");
    request_stop();
    CHECK(is_stop_requested());
    CHECK_THROWS_AS(check_deadline(), Stopped);
    CHECK_THROWS_AS(workers.run(3, check_deadline), Stopped);
    allow_work();
    CHECK_NOTHROW(check_deadline());
  }
  request_stop();
  CHECK_NOTHROW(check_deadline());  // nothing asked to be stopped
  allow_work();
}

TEST_CASE("a stop is no deadline that has passed") {
  const Deadline passed(Time::min(), "too late");
  request_stop();
  CHECK_THROWS_AS(check_deadline(), Stopped);
  allow_work();
  CHECK_THROWS_AS(check_deadline(), DeadlinePassed);
}

}  // namespace
}  // namespace scalecalc::base
