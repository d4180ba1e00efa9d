#include "moments/key_weights.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>

#include "moments/at_tokens.hpp"
#include "moments/falling_weights.hpp"
#include "moments/positions.hpp"
#include "moments/turned_windows.hpp"
#include "moments/window_weights.hpp"

namespace scalecalc::moments {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;

/// A share of less than this is one that rounding left.
constexpr double kSmallestShare = 1e-12;

double over(double sum, double share, double of = 1) {
  return share > kSmallestShare && of > 0 ? sum / (share * of) : 0;
}

/// Some keys, and the first row that sees any of them: most keys are seen by the last few rows.
struct KeyBlock {
  Index from, keys, row;
};
std::vector<KeyBlock> key_blocks(const Positions& positions) {
  constexpr Index least = 32;
  std::vector<KeyBlock> blocks;
  Index from = 0, row = 0;
  for (Index j = 0; j < positions.at.size(); ++j) {
    const Index end = positions.at[j] + 1;
    if (end - from < least && j + 1 < positions.at.size()) continue;
    blocks.push_back({from, end - from, row});
    from = end;
    row = j + 1;
  }
  return blocks;
}

/// x w^H of the rows' weights w.
template <class Weights>
Weights times_rows(const Positions& positions, const Weights& x, const Weights& rows) {
  const Index size = rows.rows();
  Weights product = Weights::Zero(x.rows(), size);
  for (const auto& [from, keys, row] : key_blocks(positions))
    product.rightCols(size - row).noalias() +=
        x.middleCols(from, keys) * rows.block(row, from, size - row, keys).adjoint();
  return product;
}

/// f_s w_ts conj(w_us) summed over the keys.
template <class Weights>
Weights selves_by_rows(const Positions& positions, const Weights& rows, const ArrayXd& f) {
  const Index size = rows.rows();
  Weights product = Weights::Zero(size, size);
  for (const auto& [from, keys, row] : key_blocks(positions)) {
    const auto seen = rows.block(row, from, size - row, keys);
    const Weights weighed = seen * f.segment(from, keys).matrix().asDiagonal();
    product.bottomRightCorner(size - row, size - row).noalias() += weighed * seen.adjoint();
  }
  return product;
}

/// Rows of positions as those of tokens.
MatrixXd rows_at_tokens(const Positions& positions, const MatrixXd& x) {
  return columns_at_tokens(positions, MatrixXd(x.transpose())).transpose();
}

/// pi_ts e^(i (t - s) theta).
Eigen::MatrixXcd turned_rows(const MatrixXd& rows, const Positions& positions, double theta) {
  Eigen::VectorXcd row(rows.rows()), key(rows.cols());
  for (Index j = 0; j < row.size(); ++j) row[j] = std::polar(1.0, theta * positions.at[j]);
  for (Index s = 0; s < key.size(); ++s) key[s] = std::polar(1.0, -theta * static_cast<double>(s));
  return row.asDiagonal() * rows.cast<std::complex<double>>() * key.asDiagonal();
}

/// Its mean over the keys of each row of a window.
Eigen::VectorXcd turned_windows(std::int64_t window, const Positions& positions, double theta) {
  Eigen::VectorXcd means(positions.at.size());
  const double half = theta / 2, turn = std::sin(half);
  for (Index j = 0; j < means.size(); ++j) {
    const auto keys = static_cast<double>(std::min<std::int64_t>(positions.at[j] + 1, window));
    means[j] = std::polar(std::fabs(turn) > 1e-12 ? std::sin(keys * half) / (keys * turn) : 1,
                          (keys - 1) * half);
  }
  return means;
}

struct WindowsKey {
  std::int64_t window = 0;
  std::shared_ptr<const Positions> positions;
  std::vector<KeyTurn> turns;
  friend bool operator==(const WindowsKey&, const WindowsKey&) = default;
};
const TurnedWindows& known_windows(std::int64_t window,
                                   const std::shared_ptr<const Positions>& positions,
                                   const std::vector<KeyTurn>& turns) {
  thread_local base::Recent<WindowsKey, std::shared_ptr<const TurnedWindows>> known;
  return *known({window, positions, turns},
                [&] { return std::make_shared<const TurnedWindows>(window, positions, turns); });
}

}  // namespace

KeyWeights::KeyWeights(std::vector<KeyBias> biases, std::shared_ptr<const Positions> positions)
    : positions_(std::move(positions)) {
  for (const KeyBias& bias : few_kinds(std::move(biases))) kinds_.push_back(kind_of(bias));
  measure();
}

KeyWeights::Kind KeyWeights::kind_of(const KeyBias& bias) const {
  const auto tokens = static_cast<Index>(positions_->tokens);
  const Index size = positions_->at.size();
  Kind kind{MatrixXd(size, tokens), {}, MatrixXd(tokens, size), {}, bias};
  const BiasedWeight weight(bias, tokens);
  for (Index s = 0; s < tokens; ++s)
    for (Index j = 0; j < size; ++j) kind.rows(j, s) = weight(positions_->at[j], s);
  for (Index j = 0; j < size; ++j)
    for (Index t = 0; t < tokens; ++t) kind.columns(t, j) = weight(t, positions_->at[j]);
  kind.gathered_rows = gathered_columns(*positions_, kind.rows);
  kind.gathered_columns =
      gathered_columns(*positions_, MatrixXd(kind.columns.transpose())).transpose();
  const bool ends = bias.window > 0 && bias.window < tokens;
  if (bias.slope > 0 && !ends)
    kind.sums = std::make_shared<const FallingWeights>(bias.slope, *positions_);
  if (bias.slope == 0 && bias.window > 0)
    kind.sums = std::make_shared<const WindowWeights>(bias.window, *positions_);
  return kind;
}

MatrixXd KeyWeights::with_rows(const Kind& of, const MatrixXd& x) const {
  return of.sums ? of.sums->with_rows(x) : times_rows(*positions_, x, of.rows);
}
MatrixXd KeyWeights::selves_of_rows(const Kind& of, const ArrayXd& f) const {
  return of.sums ? of.sums->selves_of_rows(f) : selves_by_rows(*positions_, of.rows, f);
}
MatrixXd KeyWeights::with_columns(const Kind& of, const MatrixXd& x) {
  return of.sums ? of.sums->with_columns(x) : MatrixXd(of.columns.transpose() * x);
}
MatrixXd KeyWeights::selves_of_columns(const Kind& of, const ArrayXd& f) {
  if (of.sums) return of.sums->selves_of_columns(f);
  return of.columns.transpose() * f.matrix().asDiagonal() * of.columns;
}
ArrayXd KeyWeights::squares_of_columns(const Kind& of, const ArrayXd& f) {
  if (of.sums) return of.sums->squares_of_columns(f);
  return (of.columns.array().square().matrix().transpose() * f.matrix()).array();
}

bool KeyWeights::are_windows() const {
  const KeyBias& bias = kinds_[0].bias;
  return kinds_.size() == 1 && bias.slope == 0 && bias.window > 0;
}

template <class Add>
ArrayXXd KeyWeights::mean(const Add& of_kind) const {
  const Index size = positions_->at.size();
  ArrayXXd sum = ArrayXXd::Zero(size, size);
  for (const Kind& kind : kinds_) sum += of_kind(kind).array();
  return sum / static_cast<double>(kinds_.size());
}

/// Of equal scores of variance tau2 -> 0, with P_k = sum pi^k: d E tr J^2/d tau2 = P2 - 10 P3 +
/// 5 P2^2 + 22 P4 - 28 P2 P3 + 10 P2^3.
void KeyWeights::measure() {
  const Index size = positions_->at.size();
  overlap_ = own_twice_ = sharp_overlap_ = squared_overlap_ = ArrayXXd::Zero(size, size);
  slope_growth_ = feedback_ = ArrayXd::Zero(size);
  for (const Kind& kind : kinds_) {
    const ArrayXXd square = kind.rows.array().square();
    const ArrayXXd shared = with_rows(kind, kind.rows).array();
    const ArrayXd p2 = square.rowwise().sum();
    const ArrayXd p3 = (square * kind.rows.array()).rowwise().sum();
    const ArrayXd p4 = square.square().rowwise().sum();
    overlap_ += shared;
    own_twice_ += with_rows(kind, square.matrix()).array();
    sharp_overlap_ += shared.colwise() * p2;
    squared_overlap_ += shared.square();
    feedback_ += p4 - 2 * p2 * p3 + p2.cube();
    slope_growth_ += p2 - 10 * p3 + 5 * p2.square() + 22 * p4 - 28 * p2 * p3 + 10 * p2.cube();
  }
  const double count = static_cast<double>(kinds_.size());
  for (ArrayXXd* sum : {&overlap_, &own_twice_, &sharp_overlap_, &squared_overlap_}) *sum /= count;
  slope_growth_ /= count;
  feedback_ /= count;
  slopes_overlap_ = overlap_ - own_twice_ - own_twice_.transpose() + squared_overlap_;
}

KeyMeans<PerPosition> KeyWeights::means(const PerPosition& keys) const {
  const ArrayXd second = at_tokens(*positions_, keys.second),
                self = diagonal_at_tokens(*positions_, keys.cross);
  const ArrayXXd same = mean([&](const Kind& of) { return selves_of_rows(of, second); });
  const ArrayXXd other = mean([&](const Kind& of) {
    return MatrixXd(of.gathered_rows * keys.cross.matrix() * of.gathered_rows.transpose() -
                    selves_of_rows(of, self));
  });
  KeyMeans<PerPosition> out{without_means(keys), without_means(keys)};
  const Index size = overlap_.rows();
  for (Index t = 0; t < size; ++t) {
    for (Index u = 0; u < size; ++u) {
      const double shared = overlap_(t, u), rest = 1 - shared;
      out.same.cross(t, u) = over(same(t, u), shared);
      out.other.cross(t, u) = rest > kSmallestShare ? other(t, u) / rest : out.same.cross(t, u);
    }
    out.same.second[t] = out.same.cross(t, t);
    out.other.second[t] = out.other.cross(t, t);
  }
  return out;
}

PerPosition KeyWeights::to_keys(const PerPosition& same, const PerPosition& other) const {
  const Index size = overlap_.rows();
  ArrayXXd of_same(size, size), of_other(size, size);
  ArrayXd own_same(size), own_other(size);
  for (Index t = 0; t < size; ++t) {
    for (Index u = 0; u < size; ++u) {
      const double shared = overlap_(t, u), rest = 1 - shared;
      of_same(t, u) = over(same.cross(t, u), shared);
      of_other(t, u) = rest > kSmallestShare ? other.cross(t, u) / rest : 0;
    }
    const double shared = overlap_(t, t), rest = 1 - shared;
    own_same[t] = over(same.second[t], shared);
    own_other[t] = rest > kSmallestShare ? other.second[t] / rest : 0;
  }
  const ArrayXd past_same =
                    at_tokens(*positions_, own_same) - diagonal_at_tokens(*positions_, of_same),
                past_other =
                    at_tokens(*positions_, own_other) - diagonal_at_tokens(*positions_, of_other);
  PerPosition out = without_means(same);
  out.second.setZero();
  out.cross = mean([&](const Kind& of) {
    const MatrixXd& gathered = of.gathered_columns;
    out.second += (of_same.matrix() * gathered).cwiseProduct(gathered).colwise().sum().array() +
                  squares_of_columns(of, past_same).transpose();
    return MatrixXd(gathered.transpose() * of_other.matrix() * gathered +
                    selves_of_columns(of, past_other));
  });
  out.second /= static_cast<double>(kinds_.size());
  return out;
}

ArrayXXd KeyWeights::between_means(const ArrayXXd& between) const {
  return mean([&](const Kind& of) {
    return MatrixXd(of.gathered_rows * between.matrix() * of.gathered_rows.transpose());
  });
}

ArrayXXd KeyWeights::between_to_keys(const ArrayXXd& between) const {
  return mean([&](const Kind& of) {
    return MatrixXd(of.gathered_columns.transpose() * between.matrix() * of.gathered_columns);
  });
}

/// With a = Pi V, b = Pi V Pi^T and turned weights w: w_ts conj(w_us') (V_ss' - a_ts' - a_us +
/// b_tu) K_ss', summed.
template <class Weights>
ArrayXXd KeyWeights::through(const Kind& of, const Weights& turned, const PerPosition& values,
                             const PerPosition& keys) const {
  using Scalar = typename Weights::Scalar;
  const auto cast = [](const auto& x) { return x.matrix().template cast<Scalar>(); };
  const Weights gathered = gathered_columns(*positions_, turned);
  const ArrayXd second_v = at_tokens(*positions_, values.second),
                self_v = diagonal_at_tokens(*positions_, values.cross);
  const ArrayXd second_k = at_tokens(*positions_, keys.second),
                self_k = diagonal_at_tokens(*positions_, keys.cross);
  const ArrayXXd both = values.cross * keys.cross;
  const ArrayXd past = second_v * second_k - diagonal_at_tokens(*positions_, both);
  const MatrixXd v =
      columns_at_tokens(*positions_, MatrixXd(of.gathered_rows * values.cross.matrix())) +
      of.rows * (second_v - self_v).matrix().asDiagonal();
  const Weights k = columns_at_tokens(*positions_, Weights(gathered * cast(keys.cross))) +
                    turned * cast(second_k - self_k).asDiagonal();
  const auto by_turned = [&](const Weights& x) {
    if constexpr (std::is_same_v<Weights, MatrixXd>)
      return with_rows(of, x);
    else
      return times_rows(*positions_, x, turned);
  };
  const auto turned_selves = [&](const ArrayXd& f) {
    if constexpr (std::is_same_v<Weights, MatrixXd>)
      return selves_of_rows(of, f);
    else
      return selves_by_rows(*positions_, turned, f);
  };
  const Weights from_mean = by_turned(cast(v).cwiseProduct(k));
  const Weights all = cast(with_rows(of, v)).cwiseProduct(by_turned(k));
  const Weights plain = gathered * cast(both) * gathered.adjoint() + turned_selves(past);
  return Weights(plain - from_mean - from_mean.adjoint() + all).real().array();
}

PerPosition KeyWeights::through_scores(const PerPosition& values, const PerPosition& keys) const {
  PerPosition out = without_means(keys);
  out.cross = mean([&](const Kind& of) { return through(of, of.rows, values, keys); });
  out.second = out.cross.matrix().diagonal().array();
  return out;
}

PerPosition KeyWeights::through_turned_scores(const PerPosition& values, const PerPosition& keys,
                                              const std::vector<KeyTurn>& turns) const {
  PerPosition out = without_means(keys);
  if (are_windows()) {
    out.cross = known_windows(kinds_[0].bias.window, positions_, turns).through(values, keys);
  } else {
    for (const KeyTurn& turn : turns)
      out.cross +=
          turn.share * mean([&](const Kind& of) {
            return through(of, turned_rows(of.rows, *positions_, turn.theta), values, keys);
          });
  }
  out.second = out.cross.matrix().diagonal().array();
  return out;
}

ArrayXXd KeyWeights::turned_pairs(double theta) const {
  return mean([&](const Kind& of) {
    const Eigen::VectorXcd sums = are_windows()
                                      ? turned_windows(of.bias.window, *positions_, theta)
                                      : turned_rows(of.rows, *positions_, theta).rowwise().sum();
    return MatrixXd((sums * sums.adjoint()).real());
  });
}

PerPosition KeyWeights::scores_to_keys(const PerPosition& values,
                                       const PerPosition& gradient) const {
  const ArrayXd own_v = values.second - values.cross.matrix().diagonal().array();
  const ArrayXd own_g =
      at_tokens(*positions_, gradient.second) - diagonal_at_tokens(*positions_, gradient.cross);
  const ArrayXd second_v = at_tokens(*positions_, values.second),
                self_v = diagonal_at_tokens(*positions_, values.cross);
  PerPosition out = without_means(values);
  ArrayXd selves = ArrayXd::Zero(own_v.size());
  out.cross = mean([&](const Kind& of) {
    const MatrixXd& seen = of.columns;
    const auto back = [&](const ArrayXXd& pairs, const ArrayXd& own) {
      return MatrixXd(of.gathered_columns.transpose() * pairs.matrix() * of.gathered_columns +
                      selves_of_columns(of, own));
    };
    const auto rows = [&](const MatrixXd& x, const MatrixXd& own) {
      return MatrixXd(rows_at_tokens(*positions_, x) + own);
    };
    const MatrixXd means = of.gathered_rows * values.cross.matrix();
    const ArrayXXd of_rows = (means * of.gathered_rows.transpose()).array() +
                             selves_of_rows(of, second_v - self_v).array();
    const MatrixXd plain = back(gradient.cross, own_g);
    const MatrixXd with_mean = with_columns(
        of, rows(gradient.cross.matrix() * of.gathered_columns, own_g.matrix().asDiagonal() * seen)
                .cwiseProduct(rows(means, seen * own_v.matrix().asDiagonal())));
    const MatrixXd all = back(gradient.cross * of_rows,
                              own_g * at_tokens(*positions_, of_rows.matrix().diagonal().array()));
    const ArrayXXd others = all.array() - with_mean.array() - with_mean.transpose().array();
    selves += values.second * plain.diagonal().array() + others.matrix().diagonal().array();
    return MatrixXd((values.cross * plain.array() + others).matrix());
  });
  out.second = selves / static_cast<double>(kinds_.size());
  return out;
}

std::shared_ptr<const KeyWeights> key_weights(KnownKeyWeights& known, const Attention& layer,
                                              const std::shared_ptr<const Positions>& positions) {
  return known({positions, layer.heads, layer.alibi, layer.window}, [&] {
    std::vector<KeyBias> biases;
    for (const double slope : alibi_slopes(layer.heads))
      biases.push_back({layer.alibi * slope, layer.window});
    return std::make_shared<const KeyWeights>(std::move(biases), positions);
  });
}

namespace {

/// x over tr J J' D, 0 where that is.
PerPosition over_slopes(const KeyWeights& weights, PerPosition x, const PerPosition& apart) {
  const ArrayXXd& slopes = weights.slopes_overlap();
  for (Index t = 0; t < x.second.size(); ++t) {
    x.second[t] = over(x.second[t], slopes(t, t), apart.second[t]);
    for (Index u = 0; u < x.second.size(); ++u)
      x.cross(t, u) = over(x.cross(t, u), slopes(t, u), apart.cross(t, u));
  }
  return x;
}

}  // namespace

PerPosition weighed_apart(const KeyWeights& weights, const PerPosition& values,
                          const PerPosition& keys, const PerPosition& apart,
                          const std::vector<KeyTurn>& turns) {
  PerPosition found =
      over_slopes(weights,
                  turns.empty() ? weights.through_scores(values, keys)
                                : weights.through_turned_scores(values, keys, turns),
                  apart);
  found.second = found.second.max(0.0);
  return found;
}

PerPosition weighed_to_keys(const KeyWeights& weights, const PerPosition& values,
                            const PerPosition& apart, const PerPosition& same) {
  return weights.scores_to_keys(values, over_slopes(weights, same, apart));
}

}  // namespace scalecalc::moments
