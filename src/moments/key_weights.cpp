#include "moments/key_weights.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::moments {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;

/// Heads of nearly the same slope count as one: more kinds than these are put together, neighbours
/// by neighbours, which leaves out (ln ratio)^2/24 of what goes with the slope.
constexpr std::size_t kMostKinds = 16;

std::vector<double> few_kinds(std::vector<double> slopes) {
  std::sort(slopes.begin(), slopes.end());
  if (slopes.size() <= kMostKinds) return slopes;
  std::vector<double> kinds;
  for (std::size_t kind = 0; kind < kMostKinds; ++kind) {
    const std::size_t from = kind * slopes.size() / kMostKinds,
                      to = (kind + 1) * slopes.size() / kMostKinds;
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += std::log(slopes[i]);
    kinds.push_back(std::exp(sum / static_cast<double>(to - from)));
  }
  return kinds;
}

/// pi_ts of row t; `slope` > 0.
double weight(double slope, double t, double s) {
  if (s > t) return 0;
  return std::exp(-slope * (t - s)) * std::expm1(-slope) / std::expm1(-slope * (t + 1));
}

double over(double sum, double of) {
  return of > 0 ? sum / of : 0;
}

/// f_s pi_ts pi_us summed over the keys.
MatrixXd of_selves(const MatrixXd& rows, const ArrayXd& f) {
  return rows * f.matrix().asDiagonal() * rows.transpose();
}

}  // namespace

KeyWeights::KeyWeights(std::vector<double> slopes, std::shared_ptr<const Positions> positions)
    : positions_(std::move(positions)) {
  const auto tokens = static_cast<Index>(positions_->tokens);
  const Index size = positions_->at.size();
  for (const double slope : few_kinds(std::move(slopes))) {
    Kind kind{MatrixXd(size, tokens), {}, MatrixXd(tokens, size), {}};
    for (Index j = 0; j < size; ++j)
      for (Index s = 0; s < tokens; ++s) {
        const double at = positions_->at[j], other = static_cast<double>(s);
        kind.rows(j, s) = weight(slope, at, other);
        kind.columns(s, j) = weight(slope, other, at);
      }
    const MatrixXd& near = positions_->interpolation;
    kind.gathered_rows = positions_->all() ? kind.rows : MatrixXd(kind.rows * near);
    kind.gathered_columns =
        positions_->all() ? kind.columns : MatrixXd(near.transpose() * kind.columns);
    kinds_.push_back(std::move(kind));
  }
  measure();
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
    const ArrayXXd shared = (kind.rows * kind.rows.transpose()).array();
    const ArrayXd p2 = square.rowwise().sum();
    const ArrayXd p3 = (square * kind.rows.array()).rowwise().sum();
    const ArrayXd p4 = square.square().rowwise().sum();
    overlap_ += shared;
    own_twice_ += (square.matrix() * kind.rows.transpose()).array();
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

MatrixXd KeyWeights::to_tokens(const MatrixXd& columns) const {
  if (positions_->all()) return columns;
  return columns * positions_->interpolation.transpose();
}

ArrayXd KeyWeights::at_tokens(const ArrayXd& x) const {
  if (positions_->all()) return x;
  return (positions_->interpolation * x.matrix()).array();
}

/// What is interpolated between x(t, t) and its neighbours.
ArrayXd KeyWeights::diagonal_at_tokens(const ArrayXXd& x) const {
  if (positions_->all()) return x.matrix().diagonal().array();
  const MatrixXd& near = positions_->interpolation;
  return ((near * x.matrix()).array() * near.array()).rowwise().sum();
}

KeyMeans<PerPosition> KeyWeights::means(const PerPosition& keys) const {
  const ArrayXd second = at_tokens(keys.second), self = diagonal_at_tokens(keys.cross);
  const ArrayXXd same = mean([&](const Kind& of) { return of_selves(of.rows, second); });
  const ArrayXXd other = mean([&](const Kind& of) {
    return MatrixXd(of.gathered_rows * keys.cross.matrix() * of.gathered_rows.transpose() -
                    of_selves(of.rows, self));
  });
  KeyMeans<PerPosition> out{without_means(keys), without_means(keys)};
  const Index size = overlap_.rows();
  for (Index t = 0; t < size; ++t) {
    for (Index u = 0; u < size; ++u) {
      const double shared = overlap_(t, u), rest = 1 - shared;
      out.same.cross(t, u) = over(same(t, u), shared);
      out.other.cross(t, u) = rest > 1e-12 ? other(t, u) / rest : out.same.cross(t, u);
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
      of_other(t, u) = rest > 1e-12 ? other.cross(t, u) / rest : 0;
    }
    const double shared = overlap_(t, t), rest = 1 - shared;
    own_same[t] = over(same.second[t], shared);
    own_other[t] = rest > 1e-12 ? other.second[t] / rest : 0;
  }
  const auto sums = [&](const ArrayXXd& pairs, const ArrayXd& own) {
    const ArrayXd past = at_tokens(own) - diagonal_at_tokens(pairs);
    return mean([&](const Kind& of) {
      return MatrixXd(of.gathered_columns.transpose() * pairs.matrix() * of.gathered_columns +
                      of_selves(of.columns.transpose(), past));
    });
  };
  PerPosition out = without_means(same);
  out.second = sums(of_same, own_same).matrix().diagonal().array();
  out.cross = sums(of_other, own_other);
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

/// With a = Pi V and b = Pi V Pi^T: pi_ts pi_us' (V_ss' - a_ts' - a_us + b_tu) K_ss', summed.
PerPosition KeyWeights::through_scores(const PerPosition& values, const PerPosition& keys) const {
  const ArrayXd second_v = at_tokens(values.second), self_v = diagonal_at_tokens(values.cross);
  const ArrayXd second_k = at_tokens(keys.second), self_k = diagonal_at_tokens(keys.cross);
  const ArrayXXd both = values.cross * keys.cross;
  const ArrayXd past = second_v * second_k - diagonal_at_tokens(both);
  PerPosition out = without_means(keys);
  out.cross = mean([&](const Kind& of) {
    const auto along = [&](const ArrayXXd& cross, const ArrayXd& own) {
      return MatrixXd(to_tokens(of.gathered_rows * cross.matrix()) +
                      of.rows * own.matrix().asDiagonal());
    };
    const MatrixXd v = along(values.cross, second_v - self_v),
                   k = along(keys.cross, second_k - self_k);
    const MatrixXd from_mean = v.cwiseProduct(k) * of.rows.transpose();
    const MatrixXd all = (v * of.rows.transpose()).cwiseProduct(MatrixXd(k * of.rows.transpose()));
    return MatrixXd(of.gathered_rows * both.matrix() * of.gathered_rows.transpose() +
                    of_selves(of.rows, past) - from_mean - from_mean.transpose() + all);
  });
  out.second = out.cross.matrix().diagonal().array();
  return out;
}

PerPosition KeyWeights::scores_to_keys(const PerPosition& values,
                                       const PerPosition& gradient) const {
  const ArrayXd own_v = values.second - values.cross.matrix().diagonal().array();
  const ArrayXd own_g = at_tokens(gradient.second) - diagonal_at_tokens(gradient.cross);
  const ArrayXd second_v = at_tokens(values.second), self_v = diagonal_at_tokens(values.cross);
  PerPosition out = without_means(values);
  ArrayXd selves = ArrayXd::Zero(own_v.size());
  out.cross = mean([&](const Kind& of) {
    const MatrixXd& seen = of.columns;
    const auto back = [&](const ArrayXXd& pairs, const ArrayXd& own) {
      return MatrixXd(of.gathered_columns.transpose() * pairs.matrix() * of.gathered_columns +
                      of_selves(seen.transpose(), own));
    };
    const auto rows = [&](const MatrixXd& x, const MatrixXd& own) {
      const MatrixXd at = positions_->all() ? x : MatrixXd(positions_->interpolation * x);
      return MatrixXd(at + own);
    };
    const MatrixXd means = of.gathered_rows * values.cross.matrix();
    const ArrayXXd of_rows = (means * of.gathered_rows.transpose()).array() +
                             of_selves(of.rows, second_v - self_v).array();
    const MatrixXd plain = back(gradient.cross, own_g);
    const MatrixXd with_mean =
        seen.transpose() *
        rows(gradient.cross.matrix() * of.gathered_columns, own_g.matrix().asDiagonal() * seen)
            .cwiseProduct(rows(means, seen * own_v.matrix().asDiagonal()));
    const MatrixXd all =
        back(gradient.cross * of_rows, own_g * at_tokens(of_rows.matrix().diagonal().array()));
    const ArrayXXd others = all.array() - with_mean.array() - with_mean.transpose().array();
    selves += values.second * plain.diagonal().array() + others.matrix().diagonal().array();
    return MatrixXd((values.cross * plain.array() + others).matrix());
  });
  out.second = selves / static_cast<double>(kinds_.size());
  return out;
}

std::shared_ptr<const KeyWeights> key_weights(KnownKeyWeights& known, const Attention& layer,
                                              const std::shared_ptr<const Positions>& positions) {
  if (known.positions != positions.get() || known.heads != layer.heads ||
      known.alibi != layer.alibi) {
    std::vector<double> slopes = alibi_slopes(layer.heads);
    for (double& slope : slopes) slope *= layer.alibi;
    known = {positions.get(), layer.heads, layer.alibi,
             std::make_shared<KeyWeights>(std::move(slopes), positions)};
  }
  return known.weights;
}

namespace {

/// x over tr J J' D, 0 where that is.
PerPosition over_slopes(const KeyWeights& weights, PerPosition x, const PerPosition& apart) {
  const ArrayXXd& slopes = weights.slopes_overlap();
  for (Index t = 0; t < x.second.size(); ++t) {
    x.second[t] = over(x.second[t], slopes(t, t) * apart.second[t]);
    for (Index u = 0; u < x.second.size(); ++u)
      x.cross(t, u) = over(x.cross(t, u), slopes(t, u) * apart.cross(t, u));
  }
  return x;
}

}  // namespace

PerPosition weighed_apart(const KeyWeights& weights, const PerPosition& values,
                          const PerPosition& keys, const PerPosition& apart) {
  PerPosition found = over_slopes(weights, weights.through_scores(values, keys), apart);
  found.second = found.second.max(0.0);
  return found;
}

PerPosition weighed_to_keys(const KeyWeights& weights, const PerPosition& values,
                            const PerPosition& apart, const PerPosition& same) {
  return weights.scores_to_keys(values, over_slopes(weights, same, apart));
}

}  // namespace scalecalc::moments
