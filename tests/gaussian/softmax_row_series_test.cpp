#include "gaussian/softmax/row_series.hpp"

#include <cmath>
#include <optional>
#include <vector>

#include "gaussian/softmax/orders.hpp"
#include "softmax_support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;
using gaussian::softmax::Row;
using gaussian::softmax::RowSeries;
using Length = RowSeries::Length;

namespace {

RowSeries series_of(double keys, double tau2, Length length = Length::few) {
  const Row row(keys, tau2,
                length == Length::few ? RowSeries::degree_of(tau2) : RowSeries::degree_of(length));
  return {row, gaussian::softmax::integrate_orders(row), length};
}

/// Pairs that have a series of this length, held against integrals. Derivatives of the series
/// multiply what it leaves out by k and k^2; squares, by 2^k, and are right to 1e-4.
int compare_with_integrals(Length length) {
  constexpr double squares = 1e-4;
  constexpr double opposed = 10;  // where the integrals part ways
  const double highest = RowSeries::degree_of(length) + 1;
  int found = 0;

  for (const std::int64_t keys : {2, 3, 7, 24, 1000, 1000000}) {
    for (const double tau2 : {1e-8, 0.01, 0.1, 0.5, 2.5, 20.0, 300.0}) {
      const RowSeries short_row = series_of(static_cast<double>(keys), tau2),
                      row = series_of(static_cast<double>(keys), tau2, length);
      for (const double c : {-0.5, -0.1, 0.0, 0.05, 0.3, 0.4, 0.5, 0.8, 1.0}) {
        CAPTURE(keys);
        CAPTURE(tau2);
        CAPTURE(c);
        const std::optional<SoftmaxOverlaps> two = overlaps_by_series(row, row, c);
        if (!two) continue;
        ++found;
        // More powers are asked for where few do not tell.
        if (length != Length::few && overlaps_by_series(short_row, short_row, c)) continue;
        const SoftmaxOverlaps exact = softmax_overlaps(keys, tau2, c);
        CHECK(std::abs(two->overlap - exact.overlap) <=
              two->error * two->overlap + exact.error * exact.overlap);
        CHECK(std::abs(two->a_prime - exact.a_prime) <=
              two->error * two->overlap + exact.error * exact.overlap);
        CHECK(two->error < softmax_share);
        const double slope = std::max(std::abs(exact.a_prime), exact.overlap);
        const double derivative = squares + highest * highest * two->error;
        CHECK(std::abs(two->a_second - exact.a_second) <= derivative * slope * tau2);
        CHECK(std::abs(two->a_third - exact.a_third) <= derivative * slope * tau2 * (1 + tau2));
        // Of large scores that oppose each other the integrals know it at c = 1 alone.
        if (-c * tau2 * std::log(static_cast<double>(keys) + 1) <= opposed)
          CHECK(std::abs(two->square - exact.square) <= squares * exact.square);
      }
    }
  }
  return found;
}

}  // namespace

// Both ways state their errors.
TEST_CASE("pairs of rows by powers of the correlation are integrals in the plane") {
  const int few = compare_with_integrals(Length::few), more = compare_with_integrals(Length::more),
            many = compare_with_integrals(Length::many);
  // Of 378; short of it are large scores that are close.
  CHECK(few > 240);
  CHECK(more > few);
  CHECK(many > more);
}

// As a layer asks for them: where a short series does not tell, by the next.
TEST_CASE("all pairs of many rows at once") {
  std::vector<SoftmaxRows::Row> rows;
  for (int k = 0; k < 24; ++k) rows.push_back({std::pow(1.4, k) + (k % 3 == 2 ? 0.5 : 0), 3.0});
  for (SoftmaxRows::Row& row : rows)
    if (row.keys < 100) row.keys = std::ceil(row.keys);
  for (const double c : {0.2, 0.4, 0.55, 0.9}) {
    CAPTURE(c);
    const SoftmaxRows made(rows);
    const std::vector<SoftmaxOverlaps> all =
        made.overlaps(std::vector<double>(rows.size() * (rows.size() + 1) / 2, c), 1);
    for (const std::size_t t : {1, 7, 23})
      for (const std::size_t u : {std::size_t{0}, t / 2, t}) {
        const SoftmaxOverlaps& found = all[t * (t + 1) / 2 + u];
        const SoftmaxOverlaps one = made.overlaps(t, u, c);
        CHECK(std::abs(found.overlap - one.overlap) <= (found.error + one.error) * one.overlap);
        CHECK(std::abs(found.a_prime - one.a_prime) <= (found.error + one.error) * one.overlap);
      }
  }
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
