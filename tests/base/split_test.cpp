#include "base/split.hpp"

#include <doctest/doctest.h>

using scalecalc::base::split;

TEST_CASE("parts between separators, empty ones too") {
  using Parts = std::vector<std::string>;
  CHECK(split("", ',') == Parts{""});
  CHECK(split("a", ',') == Parts{"a"});
  CHECK(split("a,b", ',') == Parts{"a", "b"});
  CHECK(split(",a,", ',') == Parts{"", "a", ""});
  CHECK(split("a b,c", ' ') == Parts{"a", "b,c"});
}
