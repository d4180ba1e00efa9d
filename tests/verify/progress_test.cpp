#include "verify/progress.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <thread>

#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("shares add up by cost") {
  std::vector<double> seen;
  std::string last;
  ProgressMeter meter([&](double done, const std::string& what) {
    seen.push_back(done);
    last = what;
    return true;
  });
  const auto small = meter.add(1, "small"), large = meter.add(3, "large");
  meter.start();
  large(0.5);
  CHECK(last == "large");
  large(0.505);  // too little to tell
  small(1);
  CHECK(last == "small");
  large(1);
  CHECK(seen == std::vector<double>{0, 0.375, 0.625, 1});
}

TEST_CASE("a receiver that says no stops every task") {
  int calls = 0;
  ProgressMeter meter([&](double, const std::string&) { return ++calls < 2; });
  const auto one = meter.add(1, "one"), two = meter.add(1, "two");
  meter.start();
  CHECK_THROWS_WITH_AS(one(0.5), "interrupted (sweep)", Error);
  CHECK_THROWS_AS(two(0.1), Error);
  CHECK(calls == 2);
  try {
    two(0.2);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::fault);
  }
}

TEST_CASE("without a receiver nothing happens") {
  ProgressMeter meter({});
  const auto one = meter.add(1, "one");
  meter.start();
  CHECK_NOTHROW(one(1));
}

TEST_CASE("a task that fails stops the others at their next report") {
  ProgressMeter meter({});
  const auto one = meter.add(1, "one");
  CHECK_THROWS_AS(meter.stop_on_failure([] { throw std::runtime_error("failed"); }),
                  std::runtime_error);
  CHECK_THROWS_AS(one(0.5), Error);
}

TEST_CASE("reports come from one thread at a time and never fall") {
  bool inside = false, overlapped = false;
  double last = -1;
  ProgressMeter meter([&](double done, const std::string&) {
    overlapped = overlapped || inside;
    inside = true;
    if (done < last) overlapped = true;
    last = done;
    std::this_thread::yield();
    inside = false;
    return true;
  });
  std::vector<std::function<void(double)>> tasks;
  for (int i = 0; i < 4; ++i) tasks.push_back(meter.add(1 + i, "task"));
  std::vector<std::thread> threads;
  for (const auto& task : tasks)
    threads.emplace_back([&task] {
      for (int step = 1; step <= 100; ++step) task(step / 100.0);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(overlapped);
  // The sum of 100 steps of each task.
  CHECK(last == rounded(1, 400));
}
