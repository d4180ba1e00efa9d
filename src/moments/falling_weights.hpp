#pragma once

#include "moments/state.hpp"
#include "moments/token_sums.hpp"

namespace scalecalc::moments {

/// Of weights that fall with the distance alone: pi_ts = e^(-slope (t - s)) (1 - e^-slope)/(1 -
/// e^(-slope (t + 1))), s <= t. Two rows are proportional where both see a key, and two keys at the
/// rows that see both, so that sums are added up from one position to the next
/// (docs/theory/attention.md#falling).
class FallingWeights final : public TokenSums {
 public:
  FallingWeights(double slope, const Positions& positions);

  Eigen::MatrixXd with_rows(const Eigen::MatrixXd& x) const override;
  Eigen::MatrixXd selves_of_rows(const Eigen::ArrayXd& f) const override;
  Eigen::MatrixXd with_columns(const Eigen::MatrixXd& x) const override;
  Eigen::MatrixXd selves_of_columns(const Eigen::ArrayXd& f) const override;
  Eigen::ArrayXd squares_of_columns(const Eigen::ArrayXd& f) const override;

 private:
  Eigen::ArrayXi at_;
  /// Of each token as a key, its weight in the row of the first position from it on; as a row, what
  /// the last position up to it weighs there.
  Eigen::ArrayXd in_next_row_, of_last_key_;
  Eigen::MatrixXd rows_ratio_;  ///< pi_us/pi_ts of t <= u, symmetric
  Eigen::MatrixXd keys_ratio_;  ///< pi_ts/pi_ts' of s <= s', likewise
};

}  // namespace scalecalc::moments
