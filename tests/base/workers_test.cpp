#include "base/workers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace scalecalc::base {
namespace {

TEST_CASE("work is done on as many threads as are asked for, one of them the caller's") {
  for (const int count : {0, 1, 2, 5}) {
    CAPTURE(count);
    std::mutex mutex;
    std::set<std::thread::id> ids;
    std::atomic<int> begun = 0;
    Workers workers;
    workers.run(count, [&] {
      ++begun;
      while (begun < count) std::this_thread::yield();  // none ends before all have begun
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    CHECK(static_cast<int>(ids.size()) == std::max(count, 1));
    CHECK(ids.count(std::this_thread::get_id()) == 1);
  }
}

TEST_CASE("the first exception stops the others and reaches the caller") {
  std::atomic<int> next = 0, done = 0;
  Workers workers;
  const auto work = [&] {
    for (int i = next++; i < 1000 && !workers.stopped(); i = next++) {
      if (i == 10) throw std::runtime_error("ten");
      if (i < 10) ++done;
      while (i > 10 && !workers.stopped()) std::this_thread::yield();
    }
  };
  CHECK_THROWS_WITH_AS(workers.run(3, work), "ten", std::runtime_error);
  CHECK(workers.stopped());
  CHECK(done == 10);
  CHECK(next <= 15);  // two had begun, and each looked at one more
}

TEST_CASE("of several exceptions one is rethrown, and once") {
  Workers workers;
  const auto throwing = [] { throw std::string("any"); };
  CHECK_THROWS_AS(workers.run(4, throwing), std::string);
  CHECK_NOTHROW(workers.run(4, [] {}));
}

TEST_CASE("who is told to stop, stops") {
  std::atomic<int> rounds = 0;
  Workers workers;
  workers.run(2, [&] {
    while (!workers.stopped())
      if (++rounds == 100) workers.stop();
  });
  CHECK(rounds >= 100);
}

}  // namespace
}  // namespace scalecalc::base
