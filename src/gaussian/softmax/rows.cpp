#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "gaussian/softmax/check.hpp"
#include "gaussian/softmax/orders.hpp"
#include "gaussian/softmax/overlaps.hpp"
#include "gaussian/softmax/prepared_rows.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace gaussian::softmax {
namespace {

/// Pairs of many rows are asked for by the thousand, by rules that leave out far more: a lattice
/// and a series of seven digits take them little more than half the time of eight.
constexpr double kPairLattice = 0.95, kPairDigits = 6.0;
/// A row's series of more powers and of many cost as much as so many integrals of pairs.
constexpr std::array<std::size_t, 3> kIntegralsOfSeries = {0, 1, 4};
/// Of pairs that a shorter series does not tell, spread over them.
constexpr std::size_t kProbes = 8;
/// Rows of smaller variances take ten microseconds or so each, as a thread takes to start.
constexpr double kLongRow = 1.0;
/// For each thread that starts.
constexpr std::size_t kRowsOfThread = 4;

/// Integrands vary on the scale of the bumps or of the largest of n scores, whichever is wider, and
/// steps may be as wide.
double widened(double keys, double tau) {
  const double extreme = tau / (1.0 + std::sqrt(2.0 * std::log(keys)));
  return std::sqrt(1.0 + extreme * extreme);
}

}  // namespace

int row_threads(const std::vector<SoftmaxRows::Row>& rows, int threads) {
  const auto is_long = [](const SoftmaxRows::Row& row) { return row.tau2 > kLongRow; };
  const auto count = static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), is_long));
  const std::size_t worth = std::max<std::size_t>(1, count / kRowsOfThread);
  return static_cast<int>(
      std::min<std::size_t>(worth, static_cast<std::size_t>(std::max(threads, 1))));
}

}  // namespace gaussian::softmax

void SoftmaxRows::Impl::Prepared::integrate(bool is_one) {
  using gaussian::softmax::RowSeries;
  with_powers.emplace(row.keys, tau2(), RowSeries::degree_of(tau2()));
  orders = gaussian::softmax::integrate_orders(*with_powers);
  if (is_one || !RowSeries::covers(row.keys)) return;
  of_few.emplace(*with_powers, orders);
  with_powers.reset();
}

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
    impl->rows.emplace_back().row = row;
  }
  gaussian::softmax::for_each(rows.size(), gaussian::softmax::row_threads(rows, threads),
                              [&](std::size_t at) { impl->rows[at].integrate(rows.size() == 1); });
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
      for (std::size_t k = 0; k < gaussian::softmax::kProbes && !any; ++k)
        any = found(rest[(2 * k + 1) * rest.size() / (2 * gaussian::softmax::kProbes)]).has_value();
      if (!any) continue;
      std::vector<char> is_asked(impl_->rows.size());
      for (const std::size_t at : rest) is_asked[pairs[at].row] = is_asked[pairs[at].other] = true;
      gaussian::softmax::for_each(is_asked.size(), threads, [&](std::size_t row) {
        if (is_asked[row]) impl_->rows[row].of_powers(length);
      });
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
