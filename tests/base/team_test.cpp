#include "base/team.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/workers.hpp"

namespace scalecalc::base {
namespace {

/// How often each index of a loop is met.
std::vector<int> met(Team& team, int threads, std::int64_t count) {
  std::vector<std::atomic<int>> times(static_cast<std::size_t>(count));
  team.share_out(threads, count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) ++times[static_cast<std::size_t>(k)];
  });
  return {times.begin(), times.end()};
}

/// Reads of files by this process so far; nothing where the system does not count them.
std::optional<long> reads() {
  std::ifstream counts("/proc/self/io");
  long number = 0;
  for (std::string name; counts >> name >> number;)
    if (name == "syscr:") return number;
  return std::nullopt;
}

TEST_CASE("a loop reads no file: it takes a microsecond") {
  Team team;
  const auto loops = [&](int count) {
    for (int k = 0; k < count; ++k) met(team, 2, 100);
  };
  loops(1);
  const std::optional<long> begin = reads();
  loops(10);
  const std::optional<long> ten = reads();
  loops(1000);
  const std::optional<long> thousand = reads();
  if (!begin || !ten || !thousand) {
    MESSAGE("reads are not counted here");
    return;
  }
  CHECK(*thousand - *ten == *ten - *begin);
}

TEST_CASE("every index is met once, whatever the threads and the length") {
  Team team;
  for (const int threads : {1, 2, 7, 3, 16, 1, 4}) {
    for (const std::int64_t count : {0, 1, 2, 3, 15, 16, 17, 1000}) {
      CAPTURE(threads);
      CAPTURE(count);
      CHECK(met(team, threads, count) == std::vector<int>(static_cast<std::size_t>(count), 1));
    }
  }
}

TEST_CASE("a loop has as many threads as it asks for, one of them the caller's") {
  Team team;
  for (const int threads : {1, 2, 5, 3}) {
    CAPTURE(threads);
    std::mutex mutex;
    std::set<std::thread::id> ids;
    team.share_out(threads, 100, [&](std::int64_t, std::int64_t) {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    CHECK(static_cast<int>(ids.size()) == threads);
    CHECK(ids.count(std::this_thread::get_id()) == 1);
  }
}

TEST_CASE("loops that follow each other at once see each other's results") {
  Team team;
  std::vector<int> values(64, 0);
  for (int round = 1; round <= 20000; ++round) {
    team.share_out(round % 4 + 1, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        int& value = values[static_cast<std::size_t>(k)];
        if (value == round - 1) value = round;
      }
    });
  }
  CHECK(values == std::vector<int>(64, 20000));
}

TEST_CASE("a loop within a loop goes on alone") {
  std::atomic<int> inner = 0, threads_of_inner = 0;
  Team::of_this_thread().share_out(4, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const auto here = std::this_thread::get_id();
      Team::of_this_thread().share_out(4, 10, [&](std::int64_t from, std::int64_t to) {
        inner += static_cast<int>(to - from);
        threads_of_inner += std::this_thread::get_id() == here ? 0 : 1;
      });
    }
  });
  CHECK(inner == 80);
  CHECK(threads_of_inner == 0);
}

TEST_CASE("each thread has a team of its own") {
  std::atomic<int> sum = 0;
  Workers workers;
  workers.run(4, [&] {
    for (int round = 0; round < 200; ++round) {
      Team::of_this_thread().share_out(3, 50, [&](std::int64_t begin, std::int64_t end) {
        sum += static_cast<int>(end - begin);
      });
    }
  });
  CHECK(sum == 4 * 200 * 50);
}

TEST_CASE("an exception of any part reaches the caller, and the team goes on") {
  Team team;
  for (const std::int64_t bad : {0, 30, 99}) {
    CAPTURE(bad);
    const auto loop = [&](std::int64_t begin, std::int64_t end) {
      if (begin <= bad && bad < end) throw std::runtime_error("bad");
    };
    CHECK_THROWS_WITH(team.share_out(4, 100, loop), "bad");
    CHECK(met(team, 4, 100) == std::vector<int>(100, 1));
  }
}

}  // namespace
}  // namespace scalecalc::base
