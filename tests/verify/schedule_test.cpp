#include "verify/schedule.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

using namespace scalecalc;

namespace {

void rest() {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

}  // namespace

TEST_CASE("every job runs once, on any number of threads") {
  for (const int threads : {0, 1, 2, 7, 100}) {
    std::vector<std::atomic<int>> runs(20);
    std::vector<Job> jobs;
    for (std::atomic<int>& run : runs) jobs.push_back({1.0, [&run] { ++run; }});
    run_jobs(jobs, threads, 3.0);
    for (const std::atomic<int>& run : runs) CHECK(run == 1);
  }
  CHECK_NOTHROW(run_jobs({}, 4, 1.0));
}

TEST_CASE("on one thread jobs run in their order") {
  std::vector<int> order;
  std::vector<Job> jobs;
  for (int i = 0; i < 5; ++i) jobs.push_back({1.0, [&order, i] { order.push_back(i); }});
  run_jobs(jobs, 1, 1.0);
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
}

TEST_CASE("the bytes of what runs stay within the budget, unless one job alone exceeds it") {
  std::atomic<int> bytes = 0, worst = 0, alone = 0;
  const auto job = [&](int size) {
    return Job{static_cast<double>(size), [&, size] {
                 const int now = bytes += size;
                 if (size > 10 && now != size) ++alone;
                 int seen = worst;
                 while (size <= 10 && now > seen && !worst.compare_exchange_weak(seen, now)) {
                 }
                 rest();
                 bytes -= size;
               }};
  };
  std::vector<Job> jobs;
  for (const int size : {30, 6, 6, 5, 5, 4, 3, 3, 2, 1, 1, 6, 4}) jobs.push_back(job(size));
  run_jobs(jobs, 6, 10.0);
  CHECK(worst <= 10);
  CHECK(worst > 6);
  CHECK(alone == 0);
}

TEST_CASE("the first exception ends the run and comes out") {
  for (const int threads : {1, 4}) {
    std::atomic<int> runs = 0;
    std::vector<Job> jobs;
    for (int i = 0; i < 100; ++i)
      jobs.push_back({1.0, [&runs, i] {
                        ++runs;
                        if (i == 3) throw std::runtime_error("job 3");
                        rest();
                      }});
    CHECK_THROWS_WITH_AS(run_jobs(jobs, threads, 100.0), "job 3", std::runtime_error);
    CHECK(runs < 50);
  }
}
