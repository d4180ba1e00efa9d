#include "moments/along_mean.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

constexpr int token_count = 5;
const Alike<double> each_token{0, 2, 0.3, 0.1};

/// v_t = sum over s of c_ts x_s: `own` of token t itself, `other` of each other.
struct Coefficients {
  double own = 0, other = 0;
};
Coefficients of(const AlongMean& mean, double a) {
  const double other = mean ? a * mean.weight / mean.tokens : 0;
  return {a * own_share(mean), other};
}

/// E v_t v_u of one token, and of two, pair by pair.
std::array<double, 2> products(const Coefficients& c) {
  std::array<double, 2> sums{};
  for (int u : {0, 1})
    for (int s = 0; s < token_count; ++s)
      for (int r = 0; r < token_count; ++r)
        sums[static_cast<std::size_t>(u)] += (s == 0 ? c.own : c.other) *
                                             (r == u ? c.own : c.other) *
                                             (s == r ? each_token.second : each_token.cross);
  return sums;
}

TEST_CASE("along mean: a part along p - less x_t and one along x_t add up") {
  const AlongMean along_p{token_count, false, 0.25};
  const double a = 0.7;
  for (const double b : {-0.4, 0.0, 3.0}) {
    CAPTURE(b);
    const AlongMean sum = sum_along(along_p, a, {}, b);
    const Coefficients all = of(sum, a + b);
    CHECK(all.own == rounded(of(along_p, a).own + b, 8, 3));
    CHECK(all.other == rounded(of(along_p, a).other, 8));
    const Alike<double> made = products_along(sum, each_token);
    const double square = (a + b) * (a + b);
    CHECK(square * made.second == rounded(products(all)[0], 60, 20));
    CHECK(square * made.cross == rounded(products(all)[1], 60, 20));
    const Alike<double> mixed = products_along(along_p, {}, each_token);
    CHECK(mixed.second == rounded(share_along(along_p, each_token) * each_token.second, 10, 2));
  }
}

TEST_CASE("along mean: below a map own shares and those of other tokens have their own factors") {
  const AlongMean mean{token_count, false, 0.25, 0.8};
  for (const double pair : {1.0, 0.2, -0.2, 1e-6, 1e-12, 0.0}) {
    CAPTURE(pair);
    constexpr double own = 1.3, start = 0.9;
    double aligned = start;
    const AlongMean below = mean_below(mean, own, pair, aligned);
    const Coefficients before = of(mean, start), after = of(below, aligned);
    // Next to nothing is dropped.
    CHECK(after.own == within(own * before.own, 1e-9 + rounding(1 / std::max(pair, 1e-9))));
    CHECK(std::fabs(after.other - pair * before.other) <= 1e-9);
  }
}

}  // namespace
