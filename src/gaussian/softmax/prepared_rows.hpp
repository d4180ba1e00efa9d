#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/workers.hpp"
#include "gaussian/softmax/averages.hpp"
#include "gaussian/softmax/row.hpp"
#include "gaussian/softmax/row_series.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc {
namespace gaussian::softmax {

/// Of rows that are prepared; the last covers every series that is short.
inline constexpr std::array<int, 4> kPairTerms = {16, 40, 90, kMostTerms};

/// Of a row at the variances that it is interpolated between.
struct RowNodes {
  std::vector<SoftmaxOrders> orders;
  std::vector<RowSeries> series;  ///< of few powers; none where a row has none
};

/// Entry by entry; the error is the largest of theirs.
SoftmaxOrders weighed(std::span<const SoftmaxOrders> orders, std::span<const double> weights);

/// body(k) for k from 0 to count - 1, each on the next thread that is free.
template <class Body>
void for_each(std::size_t count, int threads, const Body& body) {
  std::atomic<std::size_t> next = 0;
  base::Workers workers;
  workers.run(static_cast<int>(std::min<std::size_t>(std::max(threads, 1), count)), [&] {
    for (std::size_t k = next++; k < count && !workers.stopped(); k = next++) body(k);
  });
}

/// How many threads are worth starting for rows of these variances.
int row_threads(const std::vector<SoftmaxRows::Row>& rows, int threads);

}  // namespace gaussian::softmax

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

    double tau2() const { return std::max(row.tau2, gaussian::softmax::kLeastVariance); }
    /// By integrals; `is_one`: of one row few pairs are asked for.
    void integrate(bool is_one);
    /// Between rows of as many keys.
    void interpolate(const gaussian::softmax::RowNodes& nodes, std::span<const double> weights,
                     double error);
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

}  // namespace scalecalc
