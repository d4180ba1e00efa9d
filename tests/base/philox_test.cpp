#include "base/philox.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

namespace scalecalc::base {
namespace {

using Words = std::array<std::uint32_t, 4>;

Words words(Philox4 counter, std::uint32_t key0, std::uint32_t key1) {
  const Philox4 out = philox(counter, key0, key1);
  return {out.v[0], out.v[1], out.v[2], out.v[3]};
}

}  // namespace

// Known answers of Random123 1.14, tests/kat_vectors, philox4x32 10.
TEST_CASE("philox gives the published words") {
  CHECK(words({{0, 0, 0, 0}}, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(words({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffff, 0xffffffff) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(words({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a block uses seed, stream and index in full") {
  const auto first = [](std::uint64_t seed, std::uint64_t id, std::uint64_t block) {
    return philox_block({seed, id}, block).v[0];
  };
  const std::uint32_t base = first(1, 2, 3);
  for (const int bit : {0, 31, 32, 63}) {
    const std::uint64_t flip = std::uint64_t{1} << bit;
    CHECK(first(1 ^ flip, 2, 3) != base);
    CHECK(first(1, 2 ^ flip, 3) != base);
    CHECK(first(1, 2, 3 ^ flip) != base);
  }
}

TEST_CASE("uniform values stay inside (0, 1) and are symmetric") {
  CHECK(uniform_from_words(0, 0) == 0x1p-53);
  CHECK(uniform_from_words(0xffffffff, 0xffffffff) == 1.0 - 0x1p-53);
  CHECK(uniform_from_words(0, 0x80000000) == 0.5 + 0x1p-53);
}

}  // namespace scalecalc::base
