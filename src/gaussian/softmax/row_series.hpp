#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "gaussian/softmax/row.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc::gaussian::softmax {
inline namespace SCALECALC_LANES_NAMESPACE {

/// Averages of two rows as power series in the correlation of their scores, whose coefficients are
/// sums of products of what each row has by itself (docs/theory/softmax.md#series): where many rows
/// are compared with each other, most pairs are short sums.
class RowSeries {
 public:
  /// Powers of the correlation: the coefficients of each are many more than those of the last.
  enum class Length { few, more, many };
  static constexpr std::array<int, 3> kDegrees = {8, 11, 16};
  static constexpr int degree_of(Length length) {
    return kDegrees[static_cast<std::size_t>(length)];
  }

  /// The powers that are enough for a row of this variance in a series of few.
  static int degree_of(double tau2);
  /// `row`: with degree_of() terms or more; `orders`: its own averages.
  RowSeries(const Row& row, const SoftmaxOrders& orders, Length length = Length::few);
  /// The series of a row of variance `tau2` and these averages between `nodes`, rows of as many
  /// keys at other variances: of degree nodes - 1 in the variance, with the `weights` of its
  /// Lagrange polynomials there. All are of few powers, and made with one number of terms. `error`:
  /// what that leaves of an overlap, relative to it.
  static RowSeries between(std::span<const RowSeries* const> nodes, std::span<const double> weights,
                           double tau2, const SoftmaxOrders& orders, double error);
  /// Rows of other numbers of keys may have no series: of keys that are no whole number, a key's
  /// share of a coefficient may be negative.
  static bool covers(double keys, Length length = Length::few);

 private:
  friend std::optional<SoftmaxOverlaps> overlaps_by_series(const RowSeries& fewer,
                                                           const RowSeries& more,
                                                           double correlation);
  RowSeries(double keys, double tau, double p2, Length length, int degree);
  void note_left_out(const SoftmaxOrders& orders);

  double keys_, tau_, p2_;
  Length length_;
  int degree_;               ///< as far as coefficients go
  double error_ = 0;         ///< of an overlap by it, relative, beside what is left out
  double p22_left_out_ = 0;  ///< of (sum p^2)^2, by more powers than few
  /// Of p_s, and of p_s p_r, by the power of the correlation, each power's to whole vectors; and
  /// times how many keys or pairs of keys have such a coefficient.
  std::vector<double> once_, twice_, all_once_, all_twice_;
  /// By the series at c = 1, of the powers that rows of small variance have and of all.
  struct LeftOut {
    double p2 = 0, slope = 0;  ///< slope: of tau^2 A
  };
  LeftOut few_left_out_, left_out_;
  const LeftOut& left_out(int degree) const { return degree < degree_ ? few_left_out_ : left_out_; }
};

/// Both of one length. Nothing where the terms that are left out might count: more than 1e-7 of the
/// overlap; of more powers than few, than 8e-7 of it and 1e-4 of its square.
std::optional<SoftmaxOverlaps> overlaps_by_series(const RowSeries& fewer, const RowSeries& more,
                                                  double correlation);

}  // namespace SCALECALC_LANES_NAMESPACE
}  // namespace scalecalc::gaussian::softmax
