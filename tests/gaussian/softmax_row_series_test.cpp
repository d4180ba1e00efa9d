#include "gaussian/softmax/row_series.hpp"

#include <optional>

#include "gaussian/softmax/orders.hpp"
#include "softmax_support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;
using gaussian::softmax::Row;
using gaussian::softmax::RowSeries;

namespace {

RowSeries series_of(double keys, double tau2) {
  const Row row(keys, tau2, RowSeries::degree_of(tau2));
  return {row, gaussian::softmax::integrate_orders(row)};
}

}  // namespace

// Both ways state their errors. Derivatives of the series multiply what it leaves out by k and k^2,
// and squares by 2^k: to 1e-4, for they are of orders in 1/d.
TEST_CASE("pairs of rows by powers of the correlation are integrals in the plane") {
  constexpr double derivative = 1e-4;
  int found = 0;
  for (const std::int64_t keys : {2, 3, 7, 24, 1000, 1000000}) {
    for (const double tau2 : {1e-8, 0.01, 0.1, 0.5, 2.5, 20.0, 300.0}) {
      const RowSeries row = series_of(static_cast<double>(keys), tau2);
      for (const double c : {-0.5, -0.1, 0.0, 0.05, 0.3, 0.8, 1.0}) {
        CAPTURE(keys);
        CAPTURE(tau2);
        CAPTURE(c);
        const std::optional<SoftmaxOverlaps> two = overlaps_by_series(row, row, c);
        if (!two) continue;
        ++found;
        const SoftmaxOverlaps exact = softmax_overlaps(keys, tau2, c);
        CHECK(std::abs(two->overlap - exact.overlap) <=
              two->error * two->overlap + exact.error * exact.overlap);
        CHECK(std::abs(two->a_prime - exact.a_prime) <=
              two->error * two->overlap + exact.error * exact.overlap);
        CHECK(two->error < softmax_share);
        const double slope = std::max(std::abs(exact.a_prime), exact.overlap);
        CHECK(std::abs(two->a_second - exact.a_second) <= derivative * slope * tau2);
        CHECK(std::abs(two->a_third - exact.a_third) <= derivative * slope * tau2 * (1 + tau2));
        // Of large scores that oppose each other the integrals know it at c = 1 alone.
        if (tau2 < 100 || c >= 0)
          CHECK(std::abs(two->square - exact.square) <= derivative * exact.square);
      }
    }
  }
  // Of 294; short of it are large scores that are close.
  CHECK(found > 200);
}

TEST_CASE("rows of their own lengths and variances by powers of the correlation") {
  struct Case {
    std::int64_t fewer, more;
    double tau2, c;
  };
  for (const Case& of : {Case{2, 9, 0.5, 0.2},
                         {12, 13, 0.05, 0.95},
                         {3, 800, 0.11, -0.3},
                         {40, 2048, 4.0, 0.1},
                         {1, 30, 0.7, 0.4}}) {
    CAPTURE(of.fewer);
    CAPTURE(of.more);
    const RowSeries fewer = series_of(static_cast<double>(of.fewer), of.tau2),
                    more = series_of(static_cast<double>(of.more), of.tau2);
    const std::optional<SoftmaxOverlaps> two = overlaps_by_series(fewer, more, of.c);
    REQUIRE(two);
    const SoftmaxPair pair = softmax_pair(of.fewer, of.more, of.tau2, of.c);
    CHECK(std::abs(two->overlap - pair.overlap.value) <=
          two->error * two->overlap + pair.overlap.error);
    CHECK(std::abs(two->a_prime - pair.a_prime.value) <=
          two->error * two->overlap + pair.a_prime.error);
  }
  // A row of five powers against one of eight, and the other way about.
  const RowSeries small = series_of(30, 0.1), large = series_of(50, 0.3);
  const SoftmaxRows rows({{30, 0.1}, {50, 0.3}});
  REQUIRE(overlaps_by_series(small, large, 0.2));
  CHECK(overlaps_by_series(small, large, 0.2)->overlap == rows.overlaps(1, 0, 0.2).overlap);
}

// The bound is that of a row with itself: at c = 1 all that the series lacks is left out.
TEST_CASE("powers that are left out are told") {
  for (const double tau2 : {0.5, 2.0, 8.0, 50.0}) {
    CAPTURE(tau2);
    const RowSeries row = series_of(64, tau2);
    CHECK_FALSE(overlaps_by_series(row, row, 1.0));
    REQUIRE(overlaps_by_series(row, row, 0.05));
    double last = 0;
    for (const double c : {0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8}) {
      const auto two = overlaps_by_series(row, row, c);
      if (!two) break;
      CHECK(two->error >= last);
      last = two->error;
    }
  }
}

TEST_CASE("rows that have a series") {
  CHECK(RowSeries::covers(1));
  CHECK(RowSeries::covers(7));
  CHECK_FALSE(RowSeries::covers(6.5));
  CHECK(RowSeries::covers(13.5));
  // Keys that are no whole number go on as they do between whole ones.
  const auto overlap = [](double keys) {
    const RowSeries row = series_of(keys, 0.4);
    return overlaps_by_series(row, row, 0.3)->overlap;
  };
  // A parabola in ln n through its neighbours leaves a third difference of about 1/n^3.
  const double between = (3 * overlap(13) + 6 * overlap(14) - overlap(15)) / 8;
  CHECK(relative(overlap(13.5), between) < 1.0 / (13.0 * 13 * 13));
}
