#pragma once

#include "moments/state.hpp"

/// What stands at the positions, interpolated to all tokens
/// (docs/theory/attention.md#positions).
namespace scalecalc::moments {

Eigen::ArrayXd at_tokens(const Positions& positions, const Eigen::ArrayXd& x);
/// x(s, s), interpolated between x(t, t) and its neighbours.
Eigen::ArrayXd diagonal_at_tokens(const Positions& positions, const Eigen::ArrayXXd& x);

/// Columns of positions as those of tokens.
template <class Matrix>
Matrix columns_at_tokens(const Positions& positions, const Matrix& x) {
  if (positions.all()) return x;
  Matrix at(x.rows(), static_cast<Eigen::Index>(positions.tokens));
  for (Eigen::Index s = 0; s < at.cols(); ++s) {
    const Eigen::Index left = positions.left[s];
    const double share = positions.share[s];
    if (share > 0)
      at.col(s) = (1 - share) * x.col(left) + share * x.col(left + 1);
    else
      at.col(s) = x.col(left);
  }
  return at;
}
/// And the other way round: columns of tokens, shared out to the positions.
template <class Matrix>
Matrix gathered_columns(const Positions& positions, const Matrix& x) {
  if (positions.all()) return x;
  Matrix sums = Matrix::Zero(x.rows(), positions.at.size());
  for (Eigen::Index s = 0; s < x.cols(); ++s) {
    const Eigen::Index left = positions.left[s];
    const double share = positions.share[s];
    sums.col(left) += (1 - share) * x.col(s);
    if (share > 0) sums.col(left + 1) += share * x.col(s);
  }
  return sums;
}

}  // namespace scalecalc::moments
