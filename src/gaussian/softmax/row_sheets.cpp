#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>

#include "gaussian/softmax/check.hpp"
#include "gaussian/softmax/orders.hpp"
#include "gaussian/softmax/prepared_rows.hpp"

namespace scalecalc {
namespace gaussian::softmax {
namespace {

/// Of averages, by what the interpolation is made for, and as it may be measured.
constexpr double kMostLeft = 3e-8, kMostMeasured = 1e-7;
constexpr int kMostNodes = 8;
/// A sheet takes the place of this many times as many layers as it has nodes, or more.
constexpr double kWorth = 2;
/// Drifts slow down with depth: of what the next layers would go at the pace of this one.
constexpr double kTravel = 0.5;
/// The other way, of that.
constexpr double kBack = 0.3;
/// Of rows that differ in their keys.
constexpr std::size_t kMostSets = 8;

/// Averages vary with the variance on the scale of 1, and of itself where it is large.
double scale_of(double tau2) {
  return std::max(tau2, 1.0);
}

/// How many nodes leave kMostLeft, 2 (a/2)^n in an interval of half a width a, in units of the
/// scale.
int nodes_for(double half_width) {
  int nodes = 2;
  while (2 * std::pow(half_width / 2, nodes) > kMostLeft && nodes <= kMostNodes) ++nodes;
  return nodes;
}

/// Chebyshev's points on -1 .. 1.
double chebyshev_point(std::size_t k, std::size_t count) {
  return std::cos((static_cast<double>(k) + 0.5) / static_cast<double>(count) * std::numbers::pi);
}

/// Of their Lagrange polynomials at x.
std::vector<double> lagrange_weights(double x, std::size_t count) {
  std::vector<double> weights(count);
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const double apart = x - chebyshev_point(k, count);
    if (apart == 0) {
      std::fill(weights.begin(), weights.end(), 0.0);
      weights[k] = 1;
      return weights;
    }
    const double angle = (static_cast<double>(k) + 0.5) / static_cast<double>(count);
    weights[k] = (k % 2 == 0 ? 1 : -1) * std::sin(angle * std::numbers::pi) / apart;
    sum += weights[k];
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

using OrderValues = std::array<double, sizeof(SoftmaxOrders) / sizeof(double)>;

/// One row at Chebyshev's points of an interval of variances; at one, where it does not move.
struct RowSheet {
  double middle = 0, half_width = 0;
  RowNodes nodes;

  bool covers(double tau2) const {
    return std::abs(tau2 - middle) <= half_width * (1 + 1e-9) + 1e-12 * middle;
  }
  std::vector<double> weights(double tau2) const {
    const std::size_t count = nodes.orders.size();
    return lagrange_weights(half_width > 0 ? (tau2 - middle) / half_width : 0, count);
  }
  double tau2_of(std::size_t node) const {
    return middle + half_width * chebyshev_point(node, nodes.orders.size());
  }
};

}  // namespace

SoftmaxOrders weighed(std::span<const SoftmaxOrders> orders, std::span<const double> weights) {
  OrderValues sums{};
  double error = 0;
  for (std::size_t k = 0; k < orders.size(); ++k) {
    const auto values = std::bit_cast<OrderValues>(orders[k]);
    for (std::size_t q = 0; q < sums.size(); ++q) sums[q] += weights[k] * values[q];
    error = std::max(error, orders[k].error);
  }
  auto out = std::bit_cast<SoftmaxOrders>(sums);
  out.error = error;
  return out;
}

}  // namespace gaussian::softmax

namespace softmax = gaussian::softmax;

void SoftmaxRows::Impl::Prepared::interpolate(const softmax::RowNodes& nodes,
                                              std::span<const double> weights, double error) {
  orders = softmax::weighed(nodes.orders, weights);
  orders.error += error * orders.p2;
  if (nodes.series.empty()) return;
  std::vector<const softmax::RowSeries*> series;
  for (const softmax::RowSeries& of : nodes.series) series.push_back(&of);
  of_few = softmax::RowSeries::between(series, weights, tau2(), orders, error);
}

struct SoftmaxRowSheets::Impl {
  /// Rows of these numbers of keys, layer after layer.
  struct Set {
    std::vector<double> keys;
    int asked = 0;
    std::vector<double> last;  ///< variances
    std::vector<SoftmaxOrders> last_orders;
    std::vector<softmax::RowSheet> rows;
    double error = 0;       ///< of them, relative
    double last_error = 0;  ///< of the last layer's, which a sheet is measured by: 0 of integrals
    bool fails = false;

    bool covers(const std::vector<SoftmaxRows::Row>& asked_rows) const {
      if (rows.empty()) return false;
      for (std::size_t t = 0; t < rows.size(); ++t)
        if (!rows[t].covers(std::max(asked_rows[t].tau2, softmax::kLeastVariance))) return false;
      return true;
    }
  };
  std::vector<Set> sets;
  int layers = 0, asked = 0;

  Set& set_of(const std::vector<SoftmaxRows::Row>& rows);
  int layers_left(const Set& set) const;
  std::vector<softmax::RowSheet> plan(const Set& set,
                                      const std::vector<SoftmaxRows::Row>& rows) const;
  static void integrate(std::vector<softmax::RowSheet>& made,
                        const std::vector<SoftmaxRows::Row>& rows, int threads);
  static double measured(const std::vector<softmax::RowSheet>& made, const Set& set);
};

SoftmaxRowSheets::Impl::Set& SoftmaxRowSheets::Impl::set_of(
    const std::vector<SoftmaxRows::Row>& rows) {
  std::vector<double> keys;
  for (const SoftmaxRows::Row& row : rows) keys.push_back(row.keys);
  for (Set& set : sets)
    if (set.keys == keys) return set;
  if (sets.size() == softmax::kMostSets) sets.erase(sets.begin());
  Set& added = sets.emplace_back();
  added.keys = std::move(keys);
  return added;
}

/// With this one, by the set's share of the layers so far.
int SoftmaxRowSheets::Impl::layers_left(const Set& set) const {
  const double share = static_cast<double>(set.asked) / asked;
  return static_cast<int>(std::lround(share * layers)) - set.asked + 1;
}

/// Sheets without their averages; none where they are not worth it.
std::vector<gaussian::softmax::RowSheet> SoftmaxRowSheets::Impl::plan(
    const Set& set, const std::vector<SoftmaxRows::Row>& rows) const {
  // In units of the scale, of the row that moved most.
  double moved = 0;
  for (std::size_t t = 0; t < rows.size(); ++t)
    moved = std::max(moved, std::abs(rows[t].tau2 - set.last[t]) /
                                softmax::scale_of(std::min(rows[t].tau2, set.last[t])));
  int best = 0, nodes = 1;
  for (int count = layers_left(set); count > 1; count = count * 3 / 4) {
    const int asked_nodes =
        softmax::nodes_for(softmax::kTravel * count * moved * (1 + softmax::kBack) / 2);
    if (asked_nodes > softmax::kMostNodes || count < softmax::kWorth * asked_nodes) continue;
    if (count * nodes <= best * asked_nodes) continue;
    best = count;
    nodes = asked_nodes;
  }
  std::vector<softmax::RowSheet> made(best > 0 ? rows.size() : 0);
  for (std::size_t t = 0; t < made.size(); ++t) {
    const double now = std::max(rows[t].tau2, softmax::kLeastVariance);
    const double reach = rows[t].tau2 == 0
                             ? 0
                             : softmax::kTravel * best * moved *
                                   softmax::scale_of(std::min(rows[t].tau2, set.last[t]));
    const bool falls = rows[t].tau2 < set.last[t];
    const double from =
                     std::max(now - reach * (falls ? 1 : softmax::kBack), softmax::kLeastVariance),
                 to = std::clamp(now + reach * (falls ? softmax::kBack : 1), from,
                                 softmax::kMostVariance);
    made[t].middle = (from + to) / 2;
    made[t].half_width = (to - from) / 2;
    made[t].nodes.orders.resize(made[t].half_width > 0 ? static_cast<std::size_t>(nodes) : 1);
  }
  return made;
}

void SoftmaxRowSheets::Impl::integrate(std::vector<softmax::RowSheet>& made,
                                       const std::vector<SoftmaxRows::Row>& rows, int threads) {
  using softmax::RowSeries;
  softmax::for_each(made.size(), softmax::row_threads(rows, threads), [&](std::size_t t) {
    softmax::RowSheet& sheet = made[t];
    const double keys = rows[t].keys;
    const int terms = RowSeries::degree_of(sheet.middle + sheet.half_width);
    for (std::size_t k = 0; k < sheet.nodes.orders.size(); ++k) {
      const softmax::Row row(keys, sheet.tau2_of(k), terms);
      sheet.nodes.orders[k] = softmax::integrate_orders(row);
      if (RowSeries::covers(keys)) sheet.nodes.series.emplace_back(row, sheet.nodes.orders[k]);
    }
  });
}

/// At the last variances, which stand towards the ends of the intervals, where it is worst.
double SoftmaxRowSheets::Impl::measured(const std::vector<softmax::RowSheet>& made,
                                        const Set& set) {
  double most = 0;
  for (std::size_t t = 0; t < made.size(); ++t) {
    const SoftmaxOrders& known = set.last_orders[t];
    const double tau2 = std::max(set.last[t], softmax::kLeastVariance);
    const SoftmaxOrders found = softmax::weighed(made[t].nodes.orders, made[t].weights(tau2));
    most = std::max({most, std::abs(found.p2 - known.p2) / known.p2,
                     std::abs(found.a - known.a) / known.p2,
                     std::abs(found.t2 - known.t2) / known.p2});
  }
  return most;
}

SoftmaxRowSheets::SoftmaxRowSheets() : impl_(std::make_unique<Impl>()) {}
SoftmaxRowSheets::~SoftmaxRowSheets() = default;

void SoftmaxRowSheets::expect(int layers) {
  impl_->layers = layers;
}

SoftmaxRows SoftmaxRowSheets::operator()(const std::vector<SoftmaxRows::Row>& rows, int threads) {
  if (impl_->layers == 0) return SoftmaxRows(rows, threads);
  for (const SoftmaxRows::Row& row : rows) {
    softmax::check_keys(row.keys);
    softmax::check_variance(row.tau2);
  }
  Impl::Set& set = impl_->set_of(rows);
  ++set.asked;
  ++impl_->asked;
  if (!set.covers(rows) && set.asked > 1 && !set.fails) {
    std::vector<softmax::RowSheet> made = impl_->plan(set, rows);
    Impl::integrate(made, rows, threads);
    const double measured = Impl::measured(made, set);
    set.fails = !(measured <= softmax::kMostMeasured);
    set.error = measured + set.last_error + softmax::kMostLeft;
    set.rows = std::move(made);
  }
  std::shared_ptr<const SoftmaxRows::Impl> found;
  if (!set.fails && set.covers(rows)) {
    auto made = std::make_shared<SoftmaxRows::Impl>();
    for (std::size_t t = 0; t < rows.size(); ++t) {
      SoftmaxRows::Impl::Prepared& row = made->rows.emplace_back();
      row.row = rows[t];
      row.interpolate(set.rows[t].nodes, set.rows[t].weights(row.tau2()), set.error);
    }
    found = made;
    set.last_error = set.error;
  } else {
    found = SoftmaxRows(rows, threads).impl_;
    set.last_error = 0;
  }
  set.last.clear();
  set.last_orders.clear();
  for (const SoftmaxRows::Impl::Prepared& row : found->rows) {
    set.last.push_back(row.row.tau2);
    set.last_orders.push_back(row.orders);
  }
  return SoftmaxRows(found);
}

}  // namespace scalecalc
