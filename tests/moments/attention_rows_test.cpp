#include "moments/attention_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sample.hpp"
#include "tolerance.hpp"

namespace scalecalc::moments {
namespace {

Attention heads_of(std::int64_t heads, std::int64_t kv_heads, std::int64_t width) {
  Attention layer;
  layer.heads = heads;
  layer.kv_heads = kv_heads;
  layer.head_width = width;
  return layer;
}

/// (p (1 - p))^2 of two scores z apart, of which tr J^2 has 4 times as much.
double tie(double z) {
  const double cosh = std::cosh(z / 2);
  return 1 / (16 * cosh * cosh * cosh * cosh);
}

// A normal in the place of (p (1 - p))^2 has its width and not its tails: where ties are seldom
// together what is left is 35/(9 (4 pi)^(1/2)) over the width of what it is.
TEST_CASE("rows tie together as far as their scores differ by less than a tie is wide") {
  const double width = std::sqrt(M_PI * M_PI / 3 - 2);
  const double tails = std::fabs(35 / (9 * std::sqrt(4 * M_PI)) / width - 1);
  constexpr int draws = 200000;
  constexpr double reach = 40, deviations = 4.5;
  std::mt19937_64 draw(5);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> place(-reach, reach);
  for (const double tau : {0.5, 2.0, 10.0})
    for (const double c : {0.0, 0.9, 0.999}) {
      testing::Sample both, one;
      for (int n = 0; n < draws; ++n) {
        const double z = place(draw), other = z + tau * std::sqrt(2 * (1 - c * c)) * normal(draw);
        both.add(tie(z) * tie(other));
        one.add(tie(z) * tie(z));
      }
      CAPTURE(tau);
      CAPTURE(c);
      const double expected = ties_together(tau * tau, c) * one.mean();
      CHECK(both.mean() ==
            testing::within(expected,
                            tails * expected + deviations * std::hypot(both.standard_error(),
                                                                       one.standard_error())));
    }
  CHECK(ties_together(0, 0.3) == 1);
  CHECK(ties_together(1e6, 1) == 1);
}

TEST_CASE("rows that are one row vary as one") {
  const Counts over{6, 1};
  const RowsVariance rows{40, 40, 1};
  // Of independent heads; of heads of one feature and one key head half have its sign.
  CHECK(average_of_rows(heads_of(8, 8, 16), rows, 1, over) == testing::rounded(40.0 / 8, 8));
  CHECK(average_of_rows(heads_of(8, 8, 1), rows, 1, over) == testing::rounded(40.0 / 8, 8));
  CHECK(average_of_rows(heads_of(8, 1, 1), rows, 1, over) ==
        testing::rounded(40.0 / 8 * (1 + 7.0 / 2), 8));
  CHECK(average_of_rows(heads_of(8, 8, 16), {40, 40, 0}, 0, over) ==
        testing::rounded(40.0 / 48, 8));
}

TEST_CASE("queries of one feature tie where the keys do") {
  // Two keys and queries that are far larger than what these differ by: of every head the rows of
  // one sign and size have the same tie.
  constexpr int draws = 20000, tokens = 4;
  constexpr double size = 50, deviations = 4.5;
  std::mt19937_64 draw(11);
  std::normal_distribution<double> normal;
  testing::Sample one, all, squares;
  for (int n = 0; n < draws; ++n) {
    const double apart = size * (normal(draw) - normal(draw));
    double sum = 0;
    for (int t = 0; t < tokens; ++t) {
      const double of_row = tie(apart * (1 + 1e-3 * normal(draw)));
      if (t == 0) {
        one.add(of_row);
        squares.add(of_row * of_row);
      }
      sum += of_row / tokens;
    }
    all.add(sum * sum);
  }
  const double ties = squares.mean() / (one.mean() * one.mean()) - 1;
  const double expected = 1 + average_of_rows(heads_of(1, 1, 1), {ties, ties, 0}, 1, {tokens, 1});
  const double square = one.mean() * one.mean();
  CHECK(all.mean() / square ==
        testing::within(expected, deviations * all.standard_error() / square));
}

TEST_CASE("a token's own value has 1 over the keys of its row") {
  Attention layer = heads_of(1, 1, 4);
  constexpr int tokens = 37;
  const auto mean = [&](int most) {
    double sum = 0;
    for (int t = 1; t <= tokens; ++t) sum += 1.0 / std::min(t, most) / tokens;
    return sum;
  };
  CHECK(own_weight(layer, tokens) == testing::rounded(1.0 / tokens, 2));
  layer.causal = true;
  CHECK(own_weight(layer, tokens) == testing::rounded(mean(tokens), 2 * tokens));
  layer.window = 5;
  CHECK(own_weight(layer, tokens) == testing::rounded(mean(5), 2 * tokens));
  layer.over_memory = true;
  CHECK(own_weight(layer, tokens) == 0);
}

}  // namespace
}  // namespace scalecalc::moments
