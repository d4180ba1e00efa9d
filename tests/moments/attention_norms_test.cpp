#include "moments/attention_norms.hpp"

#include <doctest/doctest.h>

#include "attention_predicted.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("normed queries and keys against their simulation") {
  AttentionCase of;
  of.tokens = 8;
  of.qk_norm = true;
  SUBCASE("heads of 24") {}
  SUBCASE("heads of 24, nearly equal tokens") {
    of.cosine = 0.95;
  }
  SUBCASE("heads of 8, independent tokens") {
    of.heads = of.kv_heads = 6;
    of.cosine = 0;
  }
  SUBCASE("heads of 4") {
    of.heads = of.kv_heads = 12;
  }
  SUBCASE("heads of 4, nearly equal tokens") {
    of.heads = of.kv_heads = 12;
    of.cosine = 0.9;
  }
  SUBCASE("heads of 16, scores of variance 16, causal") {
    of.heads = of.kv_heads = 3;
    of.cosine = 0;
    of.scale = 1;
    of.causal = true;
    of.tokens = 24;
  }
  SUBCASE("one feature") {
    of.heads = of.kv_heads = 48;
    of.cosine = 0.2;
  }
  SUBCASE("heads of 8, causal") {
    of.heads = of.kv_heads = 6;
    of.causal = true;
  }
  SUBCASE("beside eps") {
    of.qk_norm_eps = 0.25;
  }
  SUBCASE("beside an eps above their size, heads of 8, scores of variance 2") {
    of.heads = of.kv_heads = 6;
    of.qk_norm_eps = 2;
    of.scale = 1.5;
    of.cosine = 0;
  }
  SUBCASE("heads of 12, biases that make queries and keys more alike than tokens") {
    of.heads = of.kv_heads = 4;
    of.cosine = 0.1;
    of.bias = 2.5;
  }
  SUBCASE("heads of 12, such biases, causal") {
    of.heads = of.kv_heads = 4;
    of.cosine = 0.1;
    of.bias = 2.5;
    of.causal = true;
  }
  SUBCASE("over all heads") {
    of.qk_norm_all = true;
  }
  SUBCASE("over all heads beside eps, heads of 8, one of keys") {
    of.heads = 6;
    of.kv_heads = 1;
    of.qk_norm_all = true;
    of.qk_norm_eps = 0.5;
    of.cosine = 0.8;
  }
  compare(of, 2000, 3);
}
