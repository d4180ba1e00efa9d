#pragma once

#include "moments/state.hpp"

namespace scalecalc::moments {

/// Sums over keys, or over the rows that see them, of weights that fall with the distance alone:
/// pi_ts = e^(-slope (t - s)) (1 - e^-slope)/(1 - e^(-slope (t + 1))), s <= t. Two rows are
/// proportional where both see a key, and two keys at the rows that see both, so that sums are
/// added up from one position to the next (docs/theory/attention.md#falling).
class FallingWeights {
 public:
  FallingWeights(double slope, const Positions& positions);

  /// sum_s x_as pi_us of keys at all tokens and rows u at the positions.
  Eigen::MatrixXd with_rows(const Eigen::MatrixXd& x) const;
  /// sum_s f_s pi_ts pi_us.
  Eigen::MatrixXd selves_of_rows(const Eigen::ArrayXd& f) const;
  /// sum_t pi_ts x_ta of rows at all tokens and keys s at the positions.
  Eigen::MatrixXd with_columns(const Eigen::MatrixXd& x) const;
  /// sum_t f_t pi_ts pi_ts'.
  Eigen::MatrixXd selves_of_columns(const Eigen::ArrayXd& f) const;
  /// Its diagonal alone.
  Eigen::ArrayXd squares_of_columns(const Eigen::ArrayXd& f) const;

 private:
  Eigen::ArrayXi at_;
  /// Of each token as a key, its weight in the row of the first position from it on; as a row, what
  /// the last position up to it weighs there.
  Eigen::ArrayXd in_next_row_, of_last_key_;
  Eigen::MatrixXd rows_ratio_;  ///< pi_us/pi_ts of t <= u, symmetric
  Eigen::MatrixXd keys_ratio_;  ///< pi_ts/pi_ts' of s <= s', likewise
};

}  // namespace scalecalc::moments
