#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "scalecalc/error.hpp"
#include "scalecalc/optimizers.hpp"

namespace scalecalc {
namespace {

using Kind = Schedule::Kind;
constexpr double kEps = std::numeric_limits<double>::epsilon();

void check_wrong(const Schedule& schedule, std::int64_t step, const std::string& message) {
  try {
    schedule.at(step);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.message() == message);
    CHECK(error.where() == "schedule");
    CHECK_FALSE(error.hint().empty());
  }
}

}  // namespace

TEST_CASE("schedule: the warm-up grows by equal steps and ends at 1") {
  for (const Kind kind : {Kind::constant, Kind::linear, Kind::cosine, Kind::inverse_sqrt}) {
    const Schedule schedule{kind, 4, 20, 0.0};
    CHECK(schedule.at(1) == 0.25);
    CHECK(schedule.at(3) == 0.75);
    CHECK(schedule.at(4) == 1.0);
  }
}

TEST_CASE("schedule: exact points") {
  CHECK(Schedule{}.at(1) == 1.0);
  CHECK(Schedule{}.at(1000000000) == 1.0);

  const Schedule linear{Kind::linear, 4, 20, 0.5};
  CHECK(linear.at(8) == 0.875);
  CHECK(linear.at(12) == 0.75);
  CHECK(linear.at(20) == 0.5);
  CHECK(linear.at(1000) == 0.5);
  CHECK(Schedule{Kind::linear, 0, 4, 0.0}.at(1) == 0.75);
  CHECK(Schedule{Kind::linear, 0, 4, 0.0}.at(4) == 0.0);

  const Schedule cosine{Kind::cosine, 4, 20, 0.5};
  // (1 + cos(pi/4))/2, at a quarter of the way.
  CHECK(std::fabs(cosine.at(8) - (0.5 + 0.25 * (1.0 + std::sqrt(0.5)))) < 4.0 * kEps);
  CHECK(std::fabs(cosine.at(12) - 0.75) < 4.0 * kEps);
  CHECK(cosine.at(20) == 0.5);
  CHECK(cosine.at(1000) == 0.5);

  const Schedule inverse{Kind::inverse_sqrt, 4, 0, 0.0};
  CHECK(inverse.at(16) == 0.5);
  CHECK(inverse.at(400) == doctest::Approx(0.1).epsilon(2.0 * kEps));
  CHECK(Schedule{Kind::inverse_sqrt, 0, 0, 0.0}.at(1) == 1.0);
  CHECK(Schedule{Kind::inverse_sqrt, 0, 0, 0.0}.at(4) == 0.5);
}

TEST_CASE("schedule: what cannot be is an error") {
  check_wrong({}, 0, "the step is 0");
  check_wrong({Kind::constant, -1, 0, 0.0}, 1, "warmup is -1");
  check_wrong({Kind::linear, 5, 5, 0.0}, 1, "steps is 5");
  check_wrong({Kind::cosine, 0, 0, 0.0}, 1, "steps is 0");
  check_wrong({Kind::cosine, 0, 10, -0.5}, 1, "final is -0.5");
  check_wrong({Kind::linear, 0, 10, 1.5}, 1, "final is 1.5");
  check_wrong({Kind::linear, 0, 10, NAN}, 1, "final is nan");
}

}  // namespace scalecalc
