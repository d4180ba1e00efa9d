#pragma once

#include <vector>

#include "moments/state.hpp"
#include "moments/token_sums.hpp"

namespace scalecalc::moments {

/// Of weights pi_ts = 1/min(t + 1, window) of the last `window` keys of a row: differences of sums
/// from the first token on (docs/theory/attention.md#windows).
class WindowWeights final : public TokenSums {
 public:
  WindowWeights(std::int64_t window, const Positions& positions);

  Eigen::MatrixXd with_rows(const Eigen::MatrixXd& x) const override;
  Eigen::MatrixXd selves_of_rows(const Eigen::ArrayXd& f) const override;
  Eigen::MatrixXd with_columns(const Eigen::MatrixXd& x) const override;
  Eigen::MatrixXd selves_of_columns(const Eigen::ArrayXd& f) const override;
  Eigen::ArrayXd squares_of_columns(const Eigen::ArrayXd& f) const override;

 private:
  /// Tokens from `from` on, to the one before `to`, by their places in `ends`.
  struct Spans {
    std::vector<Eigen::Index> ends;  ///< rising from 0: where sums are cut
    std::vector<std::size_t> from, to;
  };
  static Spans spans(const std::vector<Eigen::Index>& from, const std::vector<Eigen::Index>& to);
  /// Of each end, the sum of f before it.
  static Eigen::ArrayXd sums_before(const Spans& of, const Eigen::ArrayXd& f);
  /// Of two spans j <= k, what both have in common, from the sums before the ends.
  static double in_both(const Spans& of, const Eigen::ArrayXd& before, Eigen::Index j,
                        Eigen::Index k);

  Spans keys_;             ///< that each position sees as a row
  Spans rows_;             ///< that see each position as a key
  Eigen::ArrayXd of_row_;  ///< the weight of each key of the rows at the positions
  Eigen::ArrayXd weight_;  ///< the same of all rows
};

}  // namespace scalecalc::moments
