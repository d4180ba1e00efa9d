#include "tensor/attention_index.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "attention_shape.hpp"
#include "support.hpp"

namespace scalecalc::tensor {
namespace {

const AttentionShape kShapes[] = {
    {1, 1, 1, 1, false, 1.0},
    {2, 5, 3, 4, true, 1.0},
    with({3, 4, 6, 2, true, 1.0}, 2, 0, 0.0),
    with({2, 3, 4, 3, false, 1.0}, 1, 5, 0.0),
};

}  // namespace

// Counted up in the order in which memory holds them.
TEST_CASE("attention index: heads tile queries, keys and rows of weights") {
  for (const AttentionShape& s : kShapes) {
    CAPTURE(s.heads);
    CAPTURE(s.kv_heads);
    std::int64_t query = 0, key = 0, row = 0, weight = 0;
    for (std::int64_t b = 0; b < s.sequences; ++b) {
      for (std::int64_t t = 0; t < s.tokens; ++t) {
        for (std::int64_t h = 0; h < s.heads; ++h) {
          CHECK(Head(s, b, h).query + t * s.width() == query);
          query += s.head_width;
        }
      }
      for (std::int64_t u = 0; u < s.key_tokens(); ++u) {
        for (std::int64_t h = 0; h < s.heads; ++h) {
          CHECK(Head(s, b, h).key + u * s.key_width() == key);
          if ((h + 1) % heads_per_key(s) == 0) key += s.head_width;
        }
      }
      for (std::int64_t h = 0; h < s.heads; ++h) {
        for (std::int64_t t = 0; t < s.tokens; ++t) {
          CHECK(Head(s, b, h).row + t == row);
          for (std::int64_t u = 0; u < s.key_tokens(); ++u) {
            CHECK(weight_index(s, row, u) == weight++);
          }
          ++row;
        }
      }
    }
    CHECK(row == s.weight_rows());
    CHECK(query == s.sequences * s.tokens * s.width());
    CHECK(key == s.sequences * s.key_tokens() * s.key_width());
  }
}

TEST_CASE("attention index: a query sees the keys that the mask leaves it") {
  for (const AttentionShape& s : kShapes) {
    // Past the last token too, where the last tile of queries ends.
    for (std::int64_t t = 0; t < s.tokens + 3; ++t) {
      std::int64_t seen = 0;
      for (std::int64_t u = 0; u < s.key_tokens(); ++u) seen += s.causal && u > t ? 0 : 1;
      CHECK(keys_seen(s, t) == seen);
    }
  }
}

TEST_CASE("attention index: the gradient of a score is the softmax's Jacobian") {
  constexpr std::size_t kKeys = 7;
  constexpr double kScale = 0.6;
  const Vector scores = normal_values(kKeys, 1), dp = normal_values(kKeys, 2);
  Vector p;
  double sum = 0.0;
  for (const double score : scores) sum += std::exp(kScale * score);
  for (const double score : scores) p.push_back(std::exp(kScale * score) / sum);
  for (std::size_t u = 0; u < kKeys; ++u) {
    double expected = 0.0;
    for (std::size_t w = 0; w < kKeys; ++w) {
      expected += kScale * ((u == w ? p[u] : 0.0) - p[u] * p[w]) * dp[w];
    }
    CHECK(std::fabs(score_gradient(kScale, p[u], dp[u], dot(p, dp)) - expected) <
          4.0 * kKeys * std::numeric_limits<double>::epsilon() * norm(dp));
  }
}

}  // namespace scalecalc::tensor
