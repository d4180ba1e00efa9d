#include "moments/window_weights.hpp"

#include <algorithm>
#include <iterator>

namespace scalecalc::moments {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::MatrixXd;

}  // namespace

WindowWeights::Spans WindowWeights::spans(const std::vector<Index>& from,
                                          const std::vector<Index>& to) {
  Spans made;
  made.ends = {0};
  made.ends.insert(made.ends.end(), from.begin(), from.end());
  made.ends.insert(made.ends.end(), to.begin(), to.end());
  std::ranges::sort(made.ends);
  const auto repeated = std::ranges::unique(made.ends);
  made.ends.erase(repeated.begin(), repeated.end());
  const auto place = [&](Index end) {
    return static_cast<std::size_t>(std::ranges::lower_bound(made.ends, end) - made.ends.begin());
  };
  std::ranges::transform(from, std::back_inserter(made.from), place);
  std::ranges::transform(to, std::back_inserter(made.to), place);
  return made;
}

WindowWeights::WindowWeights(std::int64_t window, const Positions& positions)
    : of_row_(positions.at.size()), weight_(positions.tokens) {
  const Index tokens = weight_.size(), most = std::min<Index>(window, tokens);
  for (Index t = 0; t < tokens; ++t) weight_[t] = 1 / static_cast<double>(std::min(t + 1, most));
  std::vector<Index> first, behind, here, left;
  for (Index j = 0; j < positions.at.size(); ++j) {
    const Index t = positions.at[j];
    of_row_[j] = weight_[t];
    first.push_back(std::max<Index>(0, t + 1 - most));
    behind.push_back(t + 1);
    here.push_back(t);
    left.push_back(std::min(t + most, tokens));
  }
  keys_ = spans(first, behind);
  rows_ = spans(here, left);
}

ArrayXd WindowWeights::sums_before(const Spans& of, const ArrayXd& f) {
  ArrayXd sums = ArrayXd::Zero(static_cast<Index>(of.ends.size()));
  for (std::size_t e = 1; e < of.ends.size(); ++e) {
    const Index from = of.ends[e - 1], at = static_cast<Index>(e);
    sums[at] = sums[at - 1] + f.segment(from, of.ends[e] - from).sum();
  }
  return sums;
}

double WindowWeights::in_both(const Spans& of, const ArrayXd& before, Index j, Index k) {
  const std::size_t from = of.from[static_cast<std::size_t>(std::max(j, k))],
                    to = of.to[static_cast<std::size_t>(std::min(j, k))];
  return from < to ? before[static_cast<Index>(to)] - before[static_cast<Index>(from)] : 0;
}

MatrixXd WindowWeights::with_rows(const MatrixXd& x) const {
  MatrixXd before = MatrixXd::Zero(x.rows(), static_cast<Index>(keys_.ends.size()));
  for (std::size_t e = 1; e < keys_.ends.size(); ++e) {
    const Index at = static_cast<Index>(e);
    before.col(at) = before.col(at - 1);
    for (Index s = keys_.ends[e - 1]; s < keys_.ends[e]; ++s) before.col(at) += x.col(s);
  }
  MatrixXd sums(x.rows(), of_row_.size());
  for (Index j = 0; j < sums.cols(); ++j) {
    const auto at = static_cast<std::size_t>(j);
    sums.col(j) = of_row_[j] * (before.col(static_cast<Index>(keys_.to[at])) -
                                before.col(static_cast<Index>(keys_.from[at])));
  }
  return sums;
}

MatrixXd WindowWeights::selves_of_rows(const ArrayXd& f) const {
  const ArrayXd before = sums_before(keys_, f);
  return MatrixXd::NullaryExpr(of_row_.size(), of_row_.size(), [&](Index j, Index k) {
    return of_row_[j] * of_row_[k] * in_both(keys_, before, j, k);
  });
}

MatrixXd WindowWeights::with_columns(const MatrixXd& x) const {
  MatrixXd before = MatrixXd::Zero(static_cast<Index>(rows_.ends.size()), x.cols());
  for (std::size_t e = 1; e < rows_.ends.size(); ++e) {
    const Index from = rows_.ends[e - 1], rows = rows_.ends[e] - from, at = static_cast<Index>(e);
    before.row(at).noalias() =
        weight_.segment(from, rows).matrix().transpose() * x.middleRows(from, rows);
    before.row(at) += before.row(at - 1);
  }
  MatrixXd sums(of_row_.size(), x.cols());
  for (Index j = 0; j < sums.rows(); ++j) {
    const auto at = static_cast<std::size_t>(j);
    sums.row(j) = before.row(static_cast<Index>(rows_.to[at])) -
                  before.row(static_cast<Index>(rows_.from[at]));
  }
  return sums;
}

MatrixXd WindowWeights::selves_of_columns(const ArrayXd& f) const {
  const ArrayXd before = sums_before(rows_, f * weight_.square());
  return MatrixXd::NullaryExpr(of_row_.size(), of_row_.size(),
                               [&](Index j, Index k) { return in_both(rows_, before, j, k); });
}

ArrayXd WindowWeights::squares_of_columns(const ArrayXd& f) const {
  const ArrayXd before = sums_before(rows_, f * weight_.square());
  return ArrayXd::NullaryExpr(of_row_.size(),
                              [&](Index j) { return in_both(rows_, before, j, j); });
}

}  // namespace scalecalc::moments
