#include "softmax_draws.hpp"
#include "softmax_support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("overlaps by the series are those by quadrature") {
  for (const std::int64_t keys : {1, 2, 3, 24, 1000, 1000000}) {
    for (const double tau2 : {0.0, 1e-8, 0.01, 0.5, 2.0, 12.0, 100.0}) {
      for (const double c : {-0.9, -0.2, 0.0, 0.3, 0.9, 0.999, 1.0}) {
        CAPTURE(keys);
        CAPTURE(tau2);
        CAPTURE(c);
        const SoftmaxOverlaps two = softmax_overlaps(keys, tau2, c);
        const SoftmaxPair pair = softmax_pair(keys, tau2, c);
        CHECK(std::abs(two.overlap - pair.overlap.value) <=
              two.error * two.overlap + pair.overlap.error);
        CHECK(std::abs(two.a_prime - pair.a_prime.value) <=
              two.error * pair.overlap.value + pair.a_prime.error);
        // Differences state ten times what integrals do.
        CHECK(two.error < 10 * softmax_share);
      }
    }
  }
}

// Central differences over h: h^2/6 of a derivative two orders up, which grows as (1 + tau2)^2.
TEST_CASE("the derivatives in c") {
  for (const std::int64_t keys : {2, 12, 400}) {
    for (const double tau2 : {0.01, 0.5, 3.0, 20.0}) {
      for (const double c : {-0.1, 0.0, 0.4, 0.8}) {
        CAPTURE(keys);
        CAPTURE(tau2);
        CAPTURE(c);
        const double h = 1e-3 / (1 + tau2);
        const SoftmaxOverlaps at = softmax_overlaps(keys, tau2, c),
                              up = softmax_overlaps(keys, tau2, c + h),
                              down = softmax_overlaps(keys, tau2, c - h);
        const double size = at.a_prime * (1 + tau2), error = 1e-5 * size + 1e-8 * size / h;
        CHECK(std::abs((up.a_prime - down.a_prime) / (2 * h) - at.a_second) <= error);
        CHECK(std::abs((up.a_second - down.a_second) / (2 * h) - at.a_third) <= error * (1 + tau2));
      }
    }
  }
}

TEST_CASE("where the series is long, differences take its place") {
  // Both sides of the border between the two ways.
  for (const double c : {0.9, 0.97, 0.999, 1.0}) {
    CAPTURE(c);
    const SoftmaxOverlaps low = softmax_overlaps(16, 9.9, c), high = softmax_overlaps(16, 10.1, c);
    // tau2 differs by 2%; second differences have errors of 1%, and squares of as much.
    CHECK(relative(low.overlap, high.overlap) < 0.01);
    CHECK(relative(low.a_second, high.a_second) < 0.1);
    CHECK(low.a_third * high.a_third > 0.0);
    CHECK(relative(low.square, high.square) < 0.1);
  }
}

// 40 numbers.
TEST_CASE("rows of their own lengths and variances agree with draws") {
  struct Case {
    std::size_t fewer, more;
    double tau2_fewer, tau2_more, c;
  };
  for (const Case& of : {Case{3, 3, 1.0, 1.0, 0.5},
                         {2, 9, 0.5, 2.0, 0.3},
                         {8, 30, 3.0, 1.0, 0.8},
                         {1, 5, 0.7, 2.0, 0.4},
                         {12, 13, 1.5, 1.4, 0.95}}) {
    CAPTURE(of.fewer);
    CAPTURE(of.more);
    RowDraws draws(of.more);
    Tally overlap, square, slope;
    const double rest = std::sqrt(1 - of.c * of.c);
    for (int i = 0; i < 40000; ++i) {
      const std::vector<double> z = draws.normals(of.more), w = draws.normals(of.fewer);
      std::vector<double> first(of.fewer);
      for (std::size_t k = 0; k < of.fewer; ++k) first[k] = of.c * z[k] + rest * w[k];
      const DrawnRow p = RowDraws::row(first, std::sqrt(of.tau2_fewer));
      const DrawnRow q = RowDraws::row(z, std::sqrt(of.tau2_more));
      double dot = 0, cubic = 0;
      for (std::size_t k = 0; k < of.fewer; ++k) {
        dot += p.p[k] * q.p[k];
        cubic += p.p[k] * q.p[k] * (p.p[k] + q.p[k]);
      }
      overlap.add(dot);
      square.add(dot * dot);
      slope.add(dot - cubic + dot * dot);  // tr J J'
    }
    const auto size = [](std::size_t n) { return static_cast<double>(n); };
    const SoftmaxRows rows({{size(of.fewer), of.tau2_fewer}, {size(of.more), of.tau2_more}});
    const SoftmaxOverlaps two = rows.overlaps(1, 0, of.c);
    CHECK(std::abs(two.overlap - overlap.mean()) <= 5 * overlap.error() + softmax_share / 10);
    CHECK(std::abs(two.square - square.mean()) <= 5 * square.error() + softmax_share / 10);
    CHECK(std::abs(two.a_prime - slope.mean()) <= 5 * slope.error() + softmax_share / 10);
    CHECK(relative(rows.orders(0).p2, softmax_one(size(of.fewer), of.tau2_fewer).p2.value) <
          softmax_share / 10);
  }
}

TEST_CASE("all pairs of rows, whatever the threads") {
  const std::vector<SoftmaxRows::Row> of = {{1, 0.0}, {2, 0.4}, {7, 0.6}};
  const std::vector<double> c = {0.9, 0.1, 0.8, 0.2, 0.3, 0.7};
  const SoftmaxRows one(of), two(of, 2);
  const auto a = one.overlaps(c, 1), b = two.overlaps(c, 2);
  REQUIRE(a.size() == 6);
  for (std::size_t k = 0; k < a.size(); ++k) {
    CHECK(a[k].overlap == b[k].overlap);
    CHECK(a[k].a_third == b[k].a_third);
  }
  CHECK(a[4].overlap == one.overlaps(1, 2, 0.3).overlap);
  CHECK(relative(a[2].overlap, softmax_pair(2, 0.4, 0.8).overlap.value) < softmax_share / 10);
  CHECK_THROWS_AS(one.overlaps({0.5}, 1), Error);
  const auto some = one.overlaps_of({{1, 2, 0.3}, {2, 1, 0.3}, {0, 0, 0.9}}, 1);
  REQUIRE(some.size() == 3);
  CHECK(relative(some[0].overlap, a[4].overlap) < softmax_share / 10);
  CHECK(some[1].overlap == some[0].overlap);
  CHECK(some[2].overlap == a[0].overlap);
  CHECK_THROWS_AS(one.overlaps_of({{0, 1, 1.5}}, 1), Error);
}

// Of large scores the lattices of prepared rows are as wide as the scores let them be.
TEST_CASE("prepared rows of large scores are those of the integrals") {
  for (const std::int64_t keys : {2, 4, 64, 500, 2048}) {
    for (const double tau2 : {9.0, 81.0, 324.0, 900.0}) {
      for (const double c : {0.05, 0.3, 0.7}) {
        CAPTURE(keys);
        CAPTURE(tau2);
        CAPTURE(c);
        const auto fewer = std::max<std::int64_t>(1, keys / 2);
        const SoftmaxRows rows(
            {{static_cast<double>(fewer), tau2}, {static_cast<double>(keys), tau2}});
        for (const std::size_t other : {0U, 1U}) {
          const SoftmaxOverlaps two = rows.overlaps(1, other, c);
          const SoftmaxPair pair = softmax_pair(other == 0 ? fewer : keys, keys, tau2, c);
          CHECK(std::abs(two.overlap - pair.overlap.value) <=
                two.error * two.overlap + pair.overlap.error);
          CHECK(std::abs(two.a_prime - pair.a_prime.value) <=
                two.error * pair.overlap.value + pair.a_prime.error);
          CHECK(two.error < softmax_share);
        }
      }
    }
  }
}
