#pragma once

#include <memory>
#include <vector>

#include "base/recent.hpp"
#include "moments/attention_keys.hpp"
#include "moments/key_bias.hpp"
#include "moments/key_turn.hpp"
#include "moments/token_sums.hpp"
#include "scalecalc/network.hpp"

namespace scalecalc::moments {

/// Rows of a causal mask whose keys weigh unequally before any score: pi_ts, 1 summed over the keys
/// s of row t, of each kind of head (docs/theory/attention.md#weighted). With scores that do not
/// vary over keys these are the weights of attention, and all that this gives is exact; their slope
/// is J = diag(pi) - pi pi^T. Everything is a mean over heads.
class KeyWeights {
 public:
  /// One bias a head.
  KeyWeights(std::vector<KeyBias> biases, std::shared_ptr<const Positions> positions);

  /// Of rows t and u, sum pi_ts pi_us.
  const Eigen::ArrayXXd& overlap() const { return overlap_; }
  /// sum pi_ts^2 pi_us, as (t, u).
  const Eigen::ArrayXXd& own_twice() const { return own_twice_; }
  /// P2_t sum pi_ts pi_us, as (t, u), and the square of sum pi_ts pi_us.
  const Eigen::ArrayXXd& sharp_overlap() const { return sharp_overlap_; }
  const Eigen::ArrayXXd& squared_overlap() const { return squared_overlap_; }
  /// tr J_t J_u.
  const Eigen::ArrayXXd& slopes_overlap() const { return slopes_overlap_; }
  /// d E tr J_t^2/d tau2 where tau2 = 0.
  const Eigen::ArrayXd& slope_growth() const { return slope_growth_; }
  /// |J_t pi_t|^2.
  const Eigen::ArrayXd& feedback() const { return feedback_; }

  /// As key_means, to_keys and their like, with these weights.
  KeyMeans<PerPosition> means(const PerPosition& keys) const;
  PerPosition to_keys(const PerPosition& same, const PerPosition& other) const;
  Eigen::ArrayXXd between_means(const Eigen::ArrayXXd& between) const;
  Eigen::ArrayXXd between_to_keys(const Eigen::ArrayXXd& between) const;

  /// tr J_t V J_u K, entry by entry of K: what comes back to queries through scores.
  PerPosition through_scores(const PerPosition& values, const PerPosition& keys) const;
  /// The same of K_ss' cos(((t - s) - (u - s')) theta), over the turns.
  PerPosition through_turned_scores(const PerPosition& values, const PerPosition& keys,
                                    const std::vector<KeyTurn>& turns) const;
  /// sum pi_ts pi_us' cos(((t - s) - (u - s')) theta).
  Eigen::ArrayXXd turned_pairs(double theta) const;
  /// sum over rows of gradient_tu (J_t V J_u)_ss': the same at the keys.
  PerPosition scores_to_keys(const PerPosition& values, const PerPosition& gradient) const;

 private:
  /// Rows at the positions, keys all tokens or gathered to positions; and the other way round.
  struct Kind {
    Eigen::MatrixXd rows, gathered_rows, columns, gathered_columns;
    KeyBias bias;
    std::shared_ptr<const TokenSums> sums{};  ///< where falling weights have no window's end
  };
  Kind kind_of(const KeyBias& bias) const;
  /// x times the rows, w_us f_s w_ts of them, and the same of columns.
  Eigen::MatrixXd with_rows(const Kind& of, const Eigen::MatrixXd& x) const;
  Eigen::MatrixXd selves_of_rows(const Kind& of, const Eigen::ArrayXd& f) const;
  static Eigen::MatrixXd with_columns(const Kind& of, const Eigen::MatrixXd& x);
  static Eigen::MatrixXd selves_of_columns(const Kind& of, const Eigen::ArrayXd& f);
  static Eigen::ArrayXd squares_of_columns(const Kind& of, const Eigen::ArrayXd& f);
  bool are_windows() const;
  template <class Weights>
  Eigen::ArrayXXd through(const Kind& of, const Weights& turned, const PerPosition& values,
                          const PerPosition& keys) const;
  template <class Add>
  Eigen::ArrayXXd mean(const Add& of_kind) const;
  void measure();

  std::shared_ptr<const Positions> positions_;
  std::vector<Kind> kinds_;
  Eigen::ArrayXXd overlap_, own_twice_, sharp_overlap_, squared_overlap_, slopes_overlap_;
  Eigen::ArrayXd slope_growth_, feedback_;
};

/// What a layer's weights are made of.
struct KeyWeightsKey {
  std::shared_ptr<const Positions> positions;
  std::int64_t heads = 0;
  double alibi = 0;
  std::int64_t window = 0;
  friend bool operator==(const KeyWeightsKey&, const KeyWeightsKey&) = default;
};
using KnownKeyWeights = base::Recent<KeyWeightsKey, std::shared_ptr<const KeyWeights>>;

inline bool weighs_keys(const Attention& layer, std::int64_t tokens) {
  return layer.causal && (layer.alibi != 0 || (layer.window > 0 && layer.window < tokens));
}

std::shared_ptr<const KeyWeights> key_weights(KnownKeyWeights& known, const Attention& layer,
                                              const std::shared_ptr<const Positions>& positions);

/// tr J V J' K over that of V = `apart` and K = 1: in place of D of keys, as gradients weigh it.
PerPosition weighed_apart(const KeyWeights& weights, const PerPosition& values,
                          const PerPosition& keys, const PerPosition& apart,
                          const std::vector<KeyTurn>& turns = {});

/// The same at the keys: `same`, a row's sum over keys, is what V = `apart` makes of it.
PerPosition weighed_to_keys(const KeyWeights& weights, const PerPosition& values,
                            const PerPosition& apart, const PerPosition& same);

}  // namespace scalecalc::moments
