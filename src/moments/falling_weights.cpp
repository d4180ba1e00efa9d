#include "moments/falling_weights.hpp"

#include <cmath>

namespace scalecalc::moments {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;

}  // namespace

FallingWeights::FallingWeights(double slope, const Positions& positions)
    : at_(positions.at),
      in_next_row_(positions.tokens),
      of_last_key_(positions.tokens),
      rows_ratio_(at_.size(), at_.size()),
      keys_ratio_(at_.size(), at_.size()) {
  // The weights of row t add up to 1.
  const auto whole = [&](Index t) { return -std::expm1(-slope * static_cast<double>(t + 1)); };
  const auto weight = [&](Index t, Index s) {
    return std::exp(-slope * static_cast<double>(t - s)) * whole(0) / whole(t);
  };
  for (Index j = 0; j < at_.size(); ++j) {
    const Index here = at_[j], before = j > 0 ? at_[j - 1] : -1,
                next = j + 1 < at_.size() ? at_[j + 1] : static_cast<Index>(positions.tokens);
    for (Index s = before + 1; s <= here; ++s) in_next_row_[s] = weight(here, s);
    for (Index t = here; t < next; ++t) of_last_key_[t] = weight(t, here);
    for (Index k = j; k < at_.size(); ++k) {
      const double fall = std::exp(-slope * (at_[k] - at_[j]));
      keys_ratio_(j, k) = keys_ratio_(k, j) = fall;
      rows_ratio_(j, k) = rows_ratio_(k, j) = fall * whole(at_[j]) / whole(at_[k]);
    }
  }
}

MatrixXd FallingWeights::with_rows(const MatrixXd& x) const {
  MatrixXd sums(x.rows(), at_.size());
  for (Index j = 0, from = 0; j < at_.size(); from = at_[j++] + 1) {
    const Index keys = at_[j] + 1 - from;
    sums.col(j).noalias() = x.middleCols(from, keys) * in_next_row_.segment(from, keys).matrix();
    if (j > 0) sums.col(j) += rows_ratio_(j - 1, j) * sums.col(j - 1);
  }
  return sums;
}

MatrixXd FallingWeights::selves_of_rows(const ArrayXd& f) const {
  const Index size = at_.size();
  MatrixXd sums(size, size);
  double own = 0;  // sum_s f_s pi_ts^2
  for (Index j = 0, from = 0; j < size; from = at_[j++] + 1) {
    const Index keys = at_[j] + 1 - from;
    if (j > 0) own *= rows_ratio_(j - 1, j) * rows_ratio_(j - 1, j);
    own += (f.segment(from, keys) * in_next_row_.segment(from, keys).square()).sum();
    for (Index k = j; k < size; ++k) sums(j, k) = sums(k, j) = own * rows_ratio_(j, k);
  }
  return sums;
}

MatrixXd FallingWeights::with_columns(const MatrixXd& x) const {
  const Index size = at_.size();
  MatrixXd sums(size, x.cols());
  for (Index j = size - 1, end = x.rows(); j >= 0; end = at_[j--]) {
    const Index from = at_[j], rows = end - from;
    sums.row(j).noalias() =
        of_last_key_.segment(from, rows).matrix().transpose() * x.middleRows(from, rows);
    if (j + 1 < size) sums.row(j) += keys_ratio_(j, j + 1) * sums.row(j + 1);
  }
  return sums;
}

ArrayXd FallingWeights::squares_of_columns(const ArrayXd& f) const {
  const Index size = at_.size();
  ArrayXd sums(size);
  for (Index j = size - 1, end = f.size(); j >= 0; end = at_[j--]) {
    const Index from = at_[j], rows = end - from;
    sums[j] = (f.segment(from, rows) * of_last_key_.segment(from, rows).square()).sum();
    if (j + 1 < size) sums[j] += keys_ratio_(j, j + 1) * keys_ratio_(j, j + 1) * sums[j + 1];
  }
  return sums;
}

MatrixXd FallingWeights::selves_of_columns(const ArrayXd& f) const {
  const Index size = at_.size();
  const ArrayXd own = squares_of_columns(f);
  MatrixXd sums(size, size);
  for (Index j = 0; j < size; ++j)
    for (Index k = 0; k <= j; ++k) sums(j, k) = sums(k, j) = own[j] * keys_ratio_(k, j);
  return sums;
}

}  // namespace scalecalc::moments
