#pragma once

#include <Eigen/Core>

namespace scalecalc::moments {

/// Sums over keys s, or over the rows t that see them, of weights pi_ts whose shape lets each token
/// be taken once, not once for each pair of positions (docs/theory/attention.md#falling). Rows and
/// keys at the positions; what they are summed over, at all tokens.
class TokenSums {
 public:
  TokenSums() = default;
  TokenSums(const TokenSums&) = delete;
  TokenSums& operator=(const TokenSums&) = delete;
  virtual ~TokenSums() = default;

  /// sum_s x_as pi_us.
  virtual Eigen::MatrixXd with_rows(const Eigen::MatrixXd& x) const = 0;
  /// sum_s f_s pi_ts pi_us.
  virtual Eigen::MatrixXd selves_of_rows(const Eigen::ArrayXd& f) const = 0;
  /// sum_t pi_ts x_ta.
  virtual Eigen::MatrixXd with_columns(const Eigen::MatrixXd& x) const = 0;
  /// sum_t f_t pi_ts pi_ts'.
  virtual Eigen::MatrixXd selves_of_columns(const Eigen::ArrayXd& f) const = 0;
  /// Its diagonal alone.
  virtual Eigen::ArrayXd squares_of_columns(const Eigen::ArrayXd& f) const = 0;
};

}  // namespace scalecalc::moments
