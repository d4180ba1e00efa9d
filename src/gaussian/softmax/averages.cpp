#include "gaussian/softmax/averages.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>

#include "base/workers.hpp"
#include "gaussian/softmax/check.hpp"
#include "gaussian/softmax/one.hpp"
#include "gaussian/softmax/orders.hpp"
#include "gaussian/softmax/overlaps.hpp"
#include "gaussian/softmax/pair.hpp"
#include "gaussian/softmax/row_series.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace gaussian::softmax {
namespace {

/// Longer series cost more than softmax_pair.
constexpr int kMostTerms = 200;
/// Below, A' as a quotient by tau2 would lose its digits; its limit is off by no more than this.
constexpr double kSmallVariance = 1e-12;
/// Pairs of many rows are asked for by the thousand, by rules that leave out far more: a lattice
/// and a series of seven digits take them little more than half the time of eight.
constexpr double kPairLattice = 0.95, kPairDigits = 6.0;
/// Of rows that are prepared; the last covers every series that is short.
constexpr std::array<int, 4> kPairTerms = {16, 40, 90, kMostTerms};
/// A row's series of more powers and of many cost as much as so many integrals of pairs.
constexpr std::array<std::size_t, 3> kIntegralsOfSeries = {0, 1, 4};
/// Of pairs that a shorter series does not tell, spread over them.
constexpr std::size_t kProbes = 8;
/// Rows of smaller variances take a few microseconds each.
constexpr double kLongRow = 10.0;
/// Opposed scores of many keys overlap in the tails, which the series leaves out.
constexpr double kMostOpposed = 10.0;

/// Integrands vary on the scale of the bumps or of the largest of n scores, whichever is wider, and
/// steps may be as wide.
double widened(double keys, double tau) {
  const double extreme = tau / (1.0 + std::sqrt(2.0 * std::log(keys)));
  return std::sqrt(1.0 + extreme * extreme);
}

bool series_is_short(double keys, double tau2, double correlation) {
  if (-correlation * tau2 * std::log(keys + 1.0) > kMostOpposed) return false;
  return series_terms(std::sqrt(tau2), correlation) <= kMostTerms;
}

/// E (sum p p')^2 of rows that are one at c = 1, from P22.
double square_of(double overlap, double keys, double tau2) {
  const SoftmaxOne one = integrate_one(keys, tau2);
  return overlap * one.p22.value / one.p2.value;
}

/// Derivatives of A' from the parabola through three points, away from c = 1 where need be; A'
/// varies on the scale 1/tau2 there.
SoftmaxOverlaps by_differences(double fewer, double more, double tau2, double correlation) {
  const double h = 0.1 / (1.0 + tau2);
  const double centre = std::clamp(correlation, h - 1.0, 1.0 - h);
  std::array<double, 3> a{};
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double at = centre + (static_cast<double>(k) - 1.0) * h;
    a[k] = integrate_pair(fewer, more, tau2, at).a_prime.value;
  }
  const SoftmaxPair pair = integrate_pair(fewer, more, tau2, correlation);
  SoftmaxOverlaps out;
  out.overlap = pair.overlap.value;
  out.a_prime = pair.a_prime.value;
  out.a_third = (a[2] - 2.0 * a[1] + a[0]) / (h * h);
  out.a_second = (a[2] - a[0]) / (2.0 * h) + out.a_third * (correlation - centre);
  out.square = square_of(out.overlap, more, tau2);
  out.error = std::max(pair.overlap.error / pair.overlap.value, 1e-8);
  return out;
}

/// body(k) for k from 0 to count - 1, each on the next thread that is free.
template <class Body>
void for_each(std::size_t count, int threads, const Body& body) {
  std::atomic<std::size_t> next = 0;
  base::Workers workers;
  workers.run(static_cast<int>(std::min<std::size_t>(std::max(threads, 1), count)), [&] {
    for (std::size_t k = next++; k < count && !workers.stopped(); k = next++) body(k);
  });
}

}  // namespace

SoftmaxAverages averages(double keys, double tau2, double correlation) {
  const double variance = std::max(tau2, kSmallVariance);
  const bool series = series_is_short(keys, variance, correlation);
  const int terms = series ? series_terms(std::sqrt(variance), correlation) : 0;
  const Row row(keys, variance, terms);
  return {integrate_orders(row), series ? integrate_overlaps(row, row, correlation)
                                        : by_differences(keys, keys, variance, correlation)};
}

}  // namespace gaussian::softmax

SoftmaxAverages softmax_averages(std::int64_t keys, double tau2, double correlation) {
  gaussian::softmax::check_keys(keys);
  gaussian::softmax::check_variance(tau2);
  gaussian::softmax::check_correlation(correlation);
  return gaussian::softmax::averages(static_cast<double>(keys), tau2, correlation);
}

SoftmaxOrders softmax_orders(std::int64_t keys, double tau2) {
  gaussian::softmax::check_keys(keys);
  gaussian::softmax::check_variance(tau2);
  return gaussian::softmax::integrate_orders(
      gaussian::softmax::Row(static_cast<double>(keys), tau2, 0));
}

SoftmaxOverlaps softmax_overlaps(std::int64_t keys, double tau2, double correlation) {
  return softmax_averages(keys, tau2, correlation).two;
}

/// Rows whose series would be too long have none, and are compared by softmax_pair.
struct SoftmaxRows::Impl {
  using Length = gaussian::softmax::RowSeries::Length;
  static constexpr std::array<Length, 3> kLengths = {Length::few, Length::more, Length::many};
  /// A row with so many terms, made when a pair first needs them: few pairs of a layer need many.
  struct Prepared {
    Row row;
    mutable std::array<std::once_flag, gaussian::softmax::kPairTerms.size()> once;
    mutable std::array<std::optional<gaussian::softmax::Row>, gaussian::softmax::kPairTerms.size()>
        with;

    std::optional<gaussian::softmax::Row> with_powers;  ///< that its averages are of
    /// Of few powers, made with the row, which is not kept then: many at once would take megabytes.
    std::optional<gaussian::softmax::RowSeries> of_few;
    mutable std::array<std::once_flag, kLengths.size()> once_series;
    mutable std::array<std::optional<gaussian::softmax::RowSeries>, kLengths.size()> series;
    SoftmaxOrders orders;

    double tau2() const { return std::max(row.tau2, gaussian::softmax::kSmallVariance); }
    const gaussian::softmax::Row& of_terms(int terms) const;
    /// Nothing where there is none.
    const gaussian::softmax::RowSeries* of_powers(Length length) const;
  };
  std::deque<Prepared> rows;

  /// That with fewer keys is first.
  std::array<const Prepared*, 2> ordered(std::size_t row, std::size_t other) const {
    const Prepared *const one = &rows.at(row), *const two = &rows.at(other);
    return one->row.keys > two->row.keys ? std::array{two, one} : std::array{one, two};
  }
  /// Nothing where the series does not tell.
  std::optional<SoftmaxOverlaps> by_powers(Length length, std::size_t row, std::size_t other,
                                           double correlation) const;
  SoftmaxOverlaps by_integrals(std::size_t row, std::size_t other, double correlation) const;
};

const gaussian::softmax::Row& SoftmaxRows::Impl::Prepared::of_terms(int terms) const {
  std::size_t at = 0;
  while (at + 1 < with.size() && gaussian::softmax::kPairTerms[at] < terms) ++at;
  std::call_once(once[at], [&] {
    with[at].emplace(row.keys, tau2(), gaussian::softmax::kPairTerms[at],
                     gaussian::softmax::kPairLattice,
                     gaussian::softmax::widened(row.keys, std::sqrt(tau2())));
  });
  return *with[at];
}

const gaussian::softmax::RowSeries* SoftmaxRows::Impl::Prepared::of_powers(Length length) const {
  using gaussian::softmax::RowSeries;
  if (!RowSeries::covers(row.keys, length)) return nullptr;
  if (length == Length::few && of_few) return &*of_few;
  const auto at = static_cast<std::size_t>(length);
  std::call_once(once_series[at], [&] {
    if (length == Length::few) {
      series[at].emplace(*with_powers, orders);
      return;
    }
    const gaussian::softmax::Row with_more(row.keys, tau2(), RowSeries::degree_of(length));
    series[at].emplace(with_more, orders, length);
  });
  return &*series[at];
}

std::optional<SoftmaxOverlaps> SoftmaxRows::Impl::by_powers(Length length, std::size_t row,
                                                            std::size_t other,
                                                            double correlation) const {
  const auto [fewer, more] = ordered(row, other);
  const gaussian::softmax::RowSeries *const first = fewer->of_powers(length), *const second =
                                                                                  more->of_powers(
                                                                                      length);
  if (first == nullptr || second == nullptr) return std::nullopt;
  return overlaps_by_series(*first, *second, correlation);
}

SoftmaxOverlaps SoftmaxRows::Impl::by_integrals(std::size_t row, std::size_t other,
                                                double correlation) const {
  const auto [fewer, more] = ordered(row, other);
  const double tau2 = std::sqrt(fewer->tau2() * more->tau2());
  if (!gaussian::softmax::series_is_short(more->row.keys, tau2, correlation))
    return gaussian::softmax::by_differences(fewer->row.keys, more->row.keys, tau2, correlation);
  const int terms =
      gaussian::softmax::series_terms(std::sqrt(tau2), correlation, gaussian::softmax::kPairDigits);
  return gaussian::softmax::integrate_overlaps(fewer->of_terms(terms), more->of_terms(terms),
                                               correlation, gaussian::softmax::kPairDigits);
}

SoftmaxRows::SoftmaxRows(const std::vector<Row>& rows, int threads) {
  auto impl = std::make_shared<Impl>();
  for (const Row& row : rows) {
    gaussian::softmax::check_keys(row.keys);
    gaussian::softmax::check_variance(row.tau2);
  }
  for (const Row& row : rows) impl->rows.emplace_back().row = row;
  // Rows of small scores are over before threads have begun.
  const bool is_long = std::any_of(rows.begin(), rows.end(), [](const Row& row) {
    return row.tau2 > gaussian::softmax::kLongRow;
  });
  gaussian::softmax::for_each(rows.size(), is_long ? threads : 1, [&](std::size_t at) {
    Impl::Prepared& row = impl->rows[at];
    row.with_powers.emplace(row.row.keys, row.tau2(),
                            gaussian::softmax::RowSeries::degree_of(row.tau2()));
    row.orders = gaussian::softmax::integrate_orders(*row.with_powers);
    // Of several rows nearly all are compared with others; of one, few are.
    if (rows.size() == 1 || !gaussian::softmax::RowSeries::covers(row.row.keys)) return;
    row.of_few.emplace(*row.with_powers, row.orders);
    row.with_powers.reset();
  });
  impl_ = impl;
}

const SoftmaxOrders& SoftmaxRows::orders(std::size_t row) const {
  return impl_->rows.at(row).orders;
}

SoftmaxOverlaps SoftmaxRows::overlaps(std::size_t row, std::size_t other,
                                      double correlation) const {
  gaussian::softmax::check_correlation(correlation);
  if (const auto found = impl_->by_powers(Impl::Length::few, row, other, correlation))
    return *found;
  return impl_->by_integrals(row, other, correlation);
}

std::vector<SoftmaxOverlaps> SoftmaxRows::overlaps_of(const std::vector<Pair>& pairs,
                                                      int threads) const {
  for (const Pair& pair : pairs) gaussian::softmax::check_correlation(pair.correlation);
  std::vector<SoftmaxOverlaps> out(pairs.size());
  // What one series does not tell is left to the next, as long as that is worth making.
  std::vector<std::size_t> rest(pairs.size());
  std::iota(rest.begin(), rest.end(), std::size_t{0});
  for (const Impl::Length length : Impl::kLengths) {
    if (rest.size() <= impl_->rows.size() *
                           gaussian::softmax::kIntegralsOfSeries[static_cast<std::size_t>(length)])
      continue;
    const auto found = [&](std::size_t at) {
      const Pair& pair = pairs[at];
      return impl_->by_powers(length, pair.row, pair.other, pair.correlation);
    };
    if (length != Impl::Length::few) {
      // Pairs that none of a few tells are alike: not worth a series for each row.
      bool any = false;
      for (std::size_t k = 0; k < gaussian::softmax::kProbes; ++k)
        any = any || found(rest[(2 * k + 1) * rest.size() / (2 * gaussian::softmax::kProbes)]);
      if (!any) continue;
    }
    std::erase_if(rest, [&](std::size_t at) {
      const auto told = found(at);
      if (told) out[at] = *told;
      return told.has_value();
    });
  }
  gaussian::softmax::for_each(rest.size(), threads, [&](std::size_t k) {
    const Pair& pair = pairs[rest[k]];
    out[rest[k]] = impl_->by_integrals(pair.row, pair.other, pair.correlation);
  });
  return out;
}

std::vector<SoftmaxOverlaps> SoftmaxRows::overlaps(const std::vector<double>& correlations,
                                                   int threads) const {
  const std::size_t rows = impl_->rows.size();
  if (correlations.size() != rows * (rows + 1) / 2) {
    throw Error(ErrorKind::input, "one correlation for each pair of rows is needed",
                "correlations");
  }
  std::vector<Pair> pairs;
  for (std::size_t t = 0; t < rows; ++t)
    for (std::size_t u = 0; u <= t; ++u) pairs.push_back({t, u, correlations[pairs.size()]});
  return overlaps_of(pairs, threads);
}

}  // namespace scalecalc
