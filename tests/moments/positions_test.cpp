#include "moments/positions.hpp"

#include <cmath>

#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

TEST_CASE("weights of a grid add up to all tokens and all pairs") {
  for (const std::int64_t tokens : {1, 2, 64, 65, 100, 1024}) {
    for (const bool all : {true, false}) {
      const auto made = make_positions(tokens, all);
      const auto T = static_cast<double>(tokens);
      CHECK(made->weight.sum() == near(T));
      CHECK(made->pairs.sum() == rounded(T * (T - 1), 4096, 1));
      CHECK(made->at[made->at.size() - 1] == tokens - 1);
      CHECK(made->all() == (all || tokens <= 64));
    }
  }
  CHECK(make_positions(1024, false)->at.size() < 64);
}

TEST_CASE("sums over a grid are exact for what is linear between its positions") {
  const auto grid = make_positions(300, false), all = make_positions(300, true);
  const auto fill = [](const std::shared_ptr<const Positions>& at) {
    PerPosition x = spread_over(Pairs{0, 1, 0, 0}, at, 2);
    for (Eigen::Index t = 0; t < at->at.size(); ++t) {
      x.second[t] = 1 + 0.01 * at->at[t];
      for (Eigen::Index u = 0; u < at->at.size(); ++u)
        x.cross(t, u) = x.between(t, u) = 0.3 + 0.002 * (at->at[t] + at->at[u]);
    }
    return x;
  };
  const PerPosition coarse = fill(grid), fine = fill(all);
  const PerPosition ones = spread_over(Pairs{0, 1, 1, 1}, grid, 2);
  CHECK(average(coarse).second == near(average(fine).second));
  CHECK(average(coarse).cross == near(average(fine).cross));
  CHECK(average(coarse).between == near(average(fine).between));
  CHECK(token_sum(coarse, ones, 300, 2) ==
        near(token_sum(fine, spread_over(Pairs{0, 1, 1, 1}, all, 2), 300, 2)));
}

TEST_CASE("alike tokens by position give what alike tokens give") {
  const Pairs x{0, 2, 0.5, 0.25}, g{0, 3, 1, 0.5};
  const auto positions = make_positions(20, true);
  const PerPosition at = spread_over(x, positions, 4), back = spread_over(g, positions, 4);
  CHECK(token_sum(at, back, 20, 4) == near(token_sum(x, g, 20.0, 4.0)));
}

// A pool makes one token of all positions, which are kept.
TEST_CASE("sums over pooled positions are those of one token") {
  const Pairs x{0, 2, 2, 0.25}, g{0, 3, 3, 0.5};
  for (const std::int64_t tokens : {1, 2, 20}) {
    const auto positions = make_positions(tokens, true);
    const PerPosition at = spread_over(x, positions, 4), back = spread_over(g, positions, 4);
    CHECK(token_sum(at, back, 1, 4) == near(token_sum(x, g, 1.0, 4.0)));
  }
}
