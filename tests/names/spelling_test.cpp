#include "names/spelling.hpp"

#include <doctest/doctest.h>

namespace scalecalc::names {

TEST_CASE("paths in the spelling of frameworks") {
  CHECK(spell("block[3].attn.q.weight", Spelling::torch) == "block.3.attn.q.weight");
  CHECK(spell("block[3].attn.norm.gain", Spelling::torch) == "block.3.attn.norm.weight");
  CHECK(spell("block[3].attn.q.weight", Spelling::flax) == "block_3/attn/q/kernel");
  CHECK(spell("block[3].attn.norm.gain", Spelling::flax) == "block_3/attn/norm/scale");
  CHECK(spell("embedding.weight", Spelling::flax) == "embedding/embedding");
  CHECK(spell("block[3].attn.norm.shift", Spelling::keras) == "block_3/attn/norm/beta");
}

}  // namespace scalecalc::names
