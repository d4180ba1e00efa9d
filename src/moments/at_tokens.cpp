#include "moments/at_tokens.hpp"

#include <algorithm>

namespace scalecalc::moments {

using Eigen::ArrayXd;
using Eigen::Index;

ArrayXd at_tokens(const Positions& positions, const ArrayXd& x) {
  if (positions.all()) return x;
  ArrayXd at(static_cast<Index>(positions.tokens));
  for (Index s = 0; s < at.size(); ++s) {
    const Index left = positions.left[s];
    const double share = positions.share[s];
    at[s] = share > 0 ? (1 - share) * x[left] + share * x[left + 1] : x[left];
  }
  return at;
}

ArrayXd diagonal_at_tokens(const Positions& positions, const Eigen::ArrayXXd& x) {
  if (positions.all()) return x.matrix().diagonal().array();
  ArrayXd at(static_cast<Index>(positions.tokens));
  for (Index s = 0; s < at.size(); ++s) {
    const Index left = positions.left[s], right = std::min(left + 1, x.rows() - 1);
    const double share = positions.share[s], kept = 1 - share;
    at[s] = kept * kept * x(left, left) + kept * share * (x(left, right) + x(right, left)) +
            share * share * x(right, right);
  }
  return at;
}

}  // namespace scalecalc::moments
