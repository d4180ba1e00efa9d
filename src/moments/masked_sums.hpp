#pragma once

#include "moments/state.hpp"

namespace scalecalc::moments {

/// Sums over the tokens up to (or from) each position, of a weight times what a state says of the
/// tokens between its positions.
class RunningSums {
 public:
  enum class Over { up_to, from };
  /// weight(t) of token t. `positions` has its tokens placed.
  RunningSums(const Positions& positions, Over over, double (*weight)(double));

  Eigen::ArrayXd singles(const Eigen::ArrayXd& f) const { return (once_ * f.matrix()).array(); }
  /// Over pairs (s, s') with s in the sum of row t and s' in that of row u.
  Eigen::ArrayXXd pairs(const Eigen::ArrayXXd& f) const {
    return (once_ * f.matrix() * once_.transpose()).array();
  }
  /// Of those, s = s' where t = u.
  Eigen::ArrayXd equal_pairs(const Eigen::ArrayXXd& f) const;

 private:
  Eigen::MatrixXd once_, twice_, next_;
};

/// Of a causal mask, whose row t of n_t = t + 1 keys weighs each by 1/n_t. Of rows the weights hold
/// 1/n_t, and 1/(n_t (n_t - 1)), so that what is interpolated is smooth.
struct MaskedSums {
  explicit MaskedSums(const Positions& positions);
  RunningSums keys, rows, others;
};

}  // namespace scalecalc::moments
