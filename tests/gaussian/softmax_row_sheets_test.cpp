#include <cmath>
#include <vector>

#include "softmax_support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

/// Rows of a causal mask in layer k: variances go `pace`/k of their scale a layer.
std::vector<SoftmaxRows::Row> drifting_rows(double tau2, double pace, int layer) {
  double drift = 0;
  for (int k = 1; k <= layer; ++k) drift += pace / k;
  std::vector<SoftmaxRows::Row> rows = {{1, 0}};
  for (const double keys : {2.0, 3.0, 7.0, 40.0, 600.0, 2048.0})
    rows.push_back({keys, tau2 + drift * std::max(tau2, 1.0) * (keys < 10 ? 0.7 : 1.0)});
  // Between whole numbers of keys: of few there is no series.
  rows.push_back({6.5, tau2});
  rows.push_back({300.25, tau2 + drift});
  return rows;
}

std::vector<SoftmaxOverlaps> all_pairs(const SoftmaxRows& rows, std::size_t size, double c) {
  return rows.overlaps(std::vector<double>(size * (size + 1) / 2, c), 1);
}

double largest_error(const SoftmaxOrders& one, const SoftmaxOrders& two) {
  return one.error + two.error + stated_share_p2 * two.p2;
}

/// How many of the layers are not the integrals' to the last bit.
int compare_with_integrated(double tau2, double pace, int layers) {
  SoftmaxRowSheets sheets;
  sheets.expect(layers);
  int interpolated = 0;
  for (int layer = 1; layer <= layers; ++layer) {
    const std::vector<SoftmaxRows::Row> rows = drifting_rows(tau2, pace, layer);
    const SoftmaxRows found = sheets(rows), exact(rows);
    bool same = true;
    for (std::size_t t = 0; t < rows.size(); ++t) {
      CAPTURE(layer);
      CAPTURE(rows[t].keys);
      const SoftmaxOrders &one = found.orders(t), &two = exact.orders(t);
      same &= one.p2 == two.p2;
      const double error = largest_error(one, two);
      CHECK(std::abs(one.p2 - two.p2) <= error);
      CHECK(std::abs(one.a - two.a) <= error);
      CHECK(std::abs(one.t2 - two.t2) <= error);
      CHECK(std::abs(one.m2 - two.m2) <= error * (1 + rows[t].tau2) * rows[t].keys);
      CHECK(std::abs(one.p2_slope - two.p2_slope) <= error * (1 + rows[t].tau2));
    }
    if (!same) ++interpolated;
    for (const double c : {-0.2, 0.1, 0.6, 0.95}) {
      const std::vector<SoftmaxOverlaps> pairs = all_pairs(found, rows.size(), c),
                                         known = all_pairs(exact, rows.size(), c);
      for (std::size_t k = 0; k < pairs.size(); ++k) {
        CAPTURE(c);
        CAPTURE(k);
        const double error = (pairs[k].error + known[k].error) * known[k].overlap;
        CHECK(std::abs(pairs[k].overlap - known[k].overlap) <= error);
        CHECK(std::abs(pairs[k].a_prime - known[k].a_prime) <= error);
      }
    }
  }
  return interpolated;
}

}  // namespace

TEST_CASE("rows of drifting variances are those of integrals, to what they state") {
  for (const double tau2 : {0.05, 0.2, 2.6, 40.0, 300.0}) {
    for (const double pace : {-0.01, 1e-4, 0.01}) {
      if (tau2 + 4 * pace < 0) continue;
      CAPTURE(tau2);
      CAPTURE(pace);
      // All but the first, and those that a sheet's points are not yet worth.
      CHECK(compare_with_integrated(tau2, pace, 24) >= 14);
    }
  }
}

TEST_CASE("few layers, or layers that jump, are integrated") {
  CHECK(compare_with_integrated(0.5, 0.01, 6) == 0);
  // Half of the variance a layer.
  CHECK(compare_with_integrated(3.0, 0.5, 8) == 0);
  SoftmaxRowSheets sheets;  // that expects nothing
  const std::vector<SoftmaxRows::Row> rows = drifting_rows(1, 0.001, 1);
  for (int k = 0; k < 12; ++k)
    CHECK(sheets(drifting_rows(1, 0.001, k)).orders(3).p2 ==
          SoftmaxRows(drifting_rows(1, 0.001, k)).orders(3).p2);
}

TEST_CASE("rows and their pairs are the same on any number of threads") {
  // Of many keys and correlations that ask for longer series, and of a few that ask for integrals.
  std::vector<SoftmaxRows::Row> rows;
  for (int k = 0; k < 24; ++k) rows.push_back({std::ceil(std::pow(1.35, k)), 3.0 + 0.01 * k});
  for (const double c : {0.2, 0.45, 0.9}) {
    const SoftmaxRows one(rows, 1), five(rows, 5);
    const std::vector<double> correlations(rows.size() * (rows.size() + 1) / 2, c);
    const std::vector<SoftmaxOverlaps> a = one.overlaps(correlations, 1),
                                       b = five.overlaps(correlations, 5);
    for (std::size_t t = 0; t < rows.size(); ++t) CHECK(one.orders(t).p2 == five.orders(t).p2);
    for (std::size_t k = 0; k < a.size(); ++k) CHECK(a[k].overlap == b[k].overlap);
  }
}

// The second sheet is measured by what the first gave.
TEST_CASE("a drift that goes on past its sheet") {
  SoftmaxRowSheets sheets;
  constexpr int layers = 80;
  sheets.expect(layers);
  for (int layer = 0; layer < layers; ++layer) {
    CAPTURE(layer);
    const double tau2 = 1 + 0.002 * layer + 1e-5 * layer * layer;
    const std::vector<SoftmaxRows::Row> rows = {{30, tau2}, {900, 1.1 * tau2}};
    const SoftmaxRows found = sheets(rows), exact(rows);
    for (std::size_t t = 0; t < rows.size(); ++t)
      CHECK(std::abs(found.orders(t).p2 - exact.orders(t).p2) <=
            largest_error(found.orders(t), exact.orders(t)));
  }
}

// What a sheet of the way there says of the way back is measured, not assumed.
TEST_CASE("rows that turn round or change their keys are followed") {
  SoftmaxRowSheets sheets;
  sheets.expect(40);
  for (int layer = 1; layer <= 40; ++layer) {
    const double at = layer < 20 ? 0.02 * layer : 0.4 - 0.05 * (layer - 20);
    std::vector<SoftmaxRows::Row> rows = {{1, 0}, {50, 1 + at}, {800, 1.2 + at}};
    if (layer % 5 == 0) rows.pop_back();
    const SoftmaxRows found = sheets(rows), exact(rows);
    CAPTURE(layer);
    for (std::size_t t = 0; t < rows.size(); ++t)
      CHECK(std::abs(found.orders(t).p2 - exact.orders(t).p2) <=
            largest_error(found.orders(t), exact.orders(t)));
  }
}
