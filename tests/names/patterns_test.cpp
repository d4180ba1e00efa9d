#include <doctest/doctest.h>

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
