#include <doctest/doctest.h>

#include "names/patterns.hpp"
#include "scalecalc/names.hpp"

using namespace scalecalc;

TEST_CASE("patterns bind indices, and only whole names match") {
  using Indices = std::vector<std::int64_t>;
  CHECK(match_pattern("h.{i}.attn", "h.12.attn") == Indices{12});
  CHECK(match_pattern("{i}.{j}", "3.4") == Indices{3, 4});
  CHECK_FALSE(match_pattern("h.{i}.attn", "h.x.attn"));
  CHECK_FALSE(match_pattern("h.{i}.attn", "h.12.attn.more"));
  CHECK_FALSE(match_pattern("h.{i}.attn", "h.-1.attn"));
  CHECK_FALSE(match_pattern("h.{i}", "h.99999999999999999999"));
  CHECK(match_pattern("cls.*", "cls.predictions.bias") == Indices{});
  CHECK(fill_pattern("{i}.{j}", {3, 4}) == "3.4");
}

TEST_CASE("a number of a name gives way to an index") {
  CHECK(names::numbers_of("3.h12.45.x") == std::vector<std::size_t>{0, 6});
  CHECK(names::with_index("h.12.x", 2, 12) == "h.{i}.x");
  CHECK(names::with_index("h.123.x", 2, 12).empty());
  CHECK(names::with_index("h.1.x", 2, 12).empty());
}
