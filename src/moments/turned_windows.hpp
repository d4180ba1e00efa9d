#pragma once

#include <memory>
#include <vector>

#include "moments/key_turn.hpp"
#include "moments/state.hpp"
#include "moments/window_weights.hpp"

namespace scalecalc::moments {

/// tr J_t V J_u K of windows whose overlaps of keys are turned by their distance
/// (docs/theory/attention.md#windows): sums of all turns at once, from position to position.
class TurnedWindows {
 public:
  TurnedWindows(std::int64_t window, std::shared_ptr<const Positions> positions,
                const std::vector<KeyTurn>& turns);

  /// Of two rows t and u at the positions, over keys of all tokens. Products of two states are
  /// interpolated between the positions, as they are.
  Eigen::ArrayXXd through(const PerPosition& values, const PerPosition& keys) const;

 private:
  /// Of each turn (cosines, then sines) sums of f_s (1 - share), and f_s share, times e^(i s theta)
  /// over the tokens s between each position and the next, by how near they are to either; of each
  /// row those in front of its first key.
  struct CellSums {
    Eigen::ArrayXXd left, right, before_left, before_right;
  };
  CellSums cell_sums(const Eigen::ArrayXd& f) const;
  void gather();
  /// sum over the keys s of both rows of x_t(s) f_s pi_ts pi_us turned, over the turns, of x at the
  /// positions, stacked as `gathered_`.
  Eigen::ArrayXXd with_own(const Eigen::MatrixXd& x, const Eigen::ArrayXd& f) const;
  Eigen::Index first_key(Eigen::Index row) const;
  /// The last position that is not behind a token, and the share of the next in it.
  Eigen::Index cell_of(Eigen::Index token) const;
  double share_of_next(Eigen::Index token) const;

  std::int64_t window_;
  std::shared_ptr<const Positions> positions_;
  WindowWeights sums_;
  Eigen::ArrayXd weight_;                        ///< of each key of a row
  Eigen::ArrayXi first_meeting_, last_meeting_;  ///< of a row, rows that see keys of it
  Eigen::ArrayXd roots_;                         ///< of the turns' shares
  Eigen::ArrayXXd turns_;     ///< at all tokens: cosines, then sines, of each theta
  Eigen::MatrixXd unturned_;  ///< pi_ts, the keys gathered to positions
  Eigen::MatrixXd gathered_;  ///< (part, t) x key: pi_ts root e^(i (t - s) theta), likewise
  Eigen::ArrayXXd cosines_;   ///< of two rows, sum of share cos((t - u) theta)
};

}  // namespace scalecalc::moments
