#include "moments/masked_sums.hpp"

namespace scalecalc::moments {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;

RunningSums::RunningSums(const Positions& positions, Over over, double (*weight)(double)) {
  const Index size = positions.at.size(), tokens = positions.left.size();
  for (Eigen::MatrixXd* sums : {&once_, &twice_, &next_}) sums->setZero(size, size);
  Eigen::RowVectorXd once = Eigen::RowVectorXd::Zero(size), twice = once, next = once;
  for (Index step = 0; step < tokens; ++step) {
    const Index s = over == Over::from ? tokens - 1 - step : step;
    const Index left = positions.left[s];
    const double share = positions.share[s], w = weight(static_cast<double>(s));
    const double kept = w * (1 - share), rest = w * share;
    once[left] += kept;
    twice[left] += kept * kept;
    if (share > 0) {
      once[left + 1] += rest;
      twice[left + 1] += rest * rest;
      next[left] += 2 * kept * rest;
      continue;
    }
    once_.row(left) = once;
    twice_.row(left) = twice;
    next_.row(left) = next;
  }
}

ArrayXd RunningSums::equal_pairs(const ArrayXXd& f) const {
  const Index size = f.rows();
  ArrayXd sum = (twice_ * f.matrix().diagonal()).array();
  if (size > 1) sum += (next_.leftCols(size - 1) * f.matrix().diagonal(1)).array();
  return sum;
}

MaskedSums::MaskedSums(const Positions& positions)
    : keys(positions, RunningSums::Over::up_to, [](double) { return 1.0; }),
      rows(positions, RunningSums::Over::from, [](double t) { return 1 / (t + 1); }),
      others(positions, RunningSums::Over::from,
             [](double t) { return t > 0 ? 1 / (t * (t + 1)) : 0; }) {}

}  // namespace scalecalc::moments
