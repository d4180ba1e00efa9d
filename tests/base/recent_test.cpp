#include "base/recent.hpp"

#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

using scalecalc::base::Recent;

TEST_CASE("the values of the last few keys are made once") {
  Recent<std::pair<int, std::string>, std::unique_ptr<int>, 2> known;
  int made = 0;
  const auto of = [&](int key) -> const int* {
    return known({key, "x"}, [&] { return std::make_unique<int>(++made); }).get();
  };
  const int* const first = of(1);
  CHECK(*first == 1);
  CHECK(of(2) != first);
  // Keys that take turns.
  CHECK(of(1) == first);
  CHECK(of(2) != first);
  CHECK(made == 2);
  // A third takes the place of the one that was made first.
  CHECK(*of(3) == 3);
  CHECK(*of(2) == 2);
  CHECK(*of(1) == 4);
  CHECK(*of(3) == 3);
}

TEST_CASE("a value that can't be made leaves the others") {
  Recent<int, int, 1> known;
  CHECK(known(1, [] { return 5; }) == 5);
  CHECK_THROWS_AS(known(2, []() -> int { throw 3; }), int);
  CHECK(known(1, [] { return 6; }) == 5);
}
