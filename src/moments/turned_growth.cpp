#include "moments/turned_growth.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "moments/attention_rotation.hpp"

namespace scalecalc::moments {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;

/// Overlaps of the keys of a row: of two near the positions, and what a key has with itself past
/// that; `weight` of them stand for each position.
struct Gram {
  ArrayXd own;
  MatrixXd pairs;

  ArrayXd diagonal() const { return own + pairs.diagonal().array(); }
  /// The first `size` positions, without the mean over their keys.
  Gram centred(const ArrayXd& weight, Index size) const {
    Gram head{own.head(size), pairs.topLeftCorner(size, size)};
    const double keys = weight.head(size).sum();
    const Eigen::VectorXd rows =
        (head.pairs * weight.head(size).matrix() + head.own.matrix()) / keys;
    const double mean = weight.head(size).matrix().dot(rows) / keys;
    head.pairs = ((head.pairs.colwise() - rows).rowwise() - rows.transpose()).array() + mean;
    return head;
  }
};

/// Entry by entry.
Gram entries(const Gram& a, const Gram& b) {
  return {a.diagonal() * b.diagonal() - a.pairs.diagonal().array() * b.pairs.diagonal().array(),
          a.pairs.cwiseProduct(b.pairs)};
}
Gram square(const Gram& a, const ArrayXd& weight) {
  const MatrixXd once = a.own.matrix().asDiagonal() * a.pairs;
  return {a.own * a.own,
          MatrixXd(once + once.transpose() + a.pairs * weight.matrix().asDiagonal() * a.pairs)};
}
/// Of each key with all.
ArrayXd row_sums(const Gram& a, const ArrayXd& weight) {
  return (a.pairs * weight.matrix()).array() + a.own;
}

/// d ln tr J V J' K/dtau2 of one row beyond that of keys that are alike, 1 - 4/n: where scores of
/// both rows meet, and where those of one do.
struct Growth {
  double both = 0, one = 0;
};
Growth growth_of(const Gram& values, const Gram& keys, const ArrayXd& weight) {
  const double n = weight.sum();
  const Gram product = entries(values, keys);
  const ArrayXd of_keys = row_sums(product, weight), variances = keys.diagonal();
  const double all = (weight * of_keys).sum(), variance = (weight * variances).sum() / n;
  const double unit = all * variance * n / (n - 1);
  if (!(unit > 0)) return {};
  const double both = (weight * row_sums(entries(product, keys), weight)).sum();
  const double uneven = (weight * (variances - variance) * of_keys).sum();
  const double twice = (weight * row_sums(entries(values, square(keys, weight)), weight)).sum();
  return {both / unit - (1 - 2 / n), (uneven - 2 / n * twice) / unit + 2 / n};
}

/// Rows that are computed: between them the growth is taken as linear in the position. Of two keys
/// nothing is left to differ by.
constexpr Index kFirstRow = 2;
Index next_row(Index t) {
  return t + std::max<Index>(1, t / 6);
}

/// The largest growth that is taken.
constexpr double kMost = 2;

/// tau2 of the first order, which ends where a row of n keys condenses, at a tau2 of about ln^2
/// n/4.
double before_condensing(double tau2, double keys) {
  const double log = std::log(keys);
  return log > 0 ? tau2 / (1 + 4 * tau2 / (log * log)) : 0;
}

}  // namespace

PerPosition turned_growth(const Attention& layer, const PerPosition& values,
                          const PerPosition& keys, const PerPosition& scores) {
  const Positions& positions = *keys.positions;
  const ArrayXd& weight = positions.weight;
  const Index size = weight.size();
  ArrayXXd cosine = ArrayXXd::Zero(size, size);
  over_turns(layer, positions, [&](double share, const Eigen::ArrayXcd& turn) {
    cosine += share * (turn.matrix() * turn.matrix().adjoint()).real().array();
  });
  const auto gram = [](const ArrayXd& second, const ArrayXXd& pairs) {
    return Gram{second - pairs.matrix().diagonal().array(), pairs.matrix()};
  };
  const Gram of_values = gram(values.second, values.cross),
             of_keys = gram(keys.second, keys.cross * cosine);
  std::vector<Growth> rows(static_cast<std::size_t>(size));
  Index before = 0;
  for (Index t = kFirstRow; t < size; t = t == size - 1 ? size : std::min(next_row(t), size - 1)) {
    const Growth found = growth_of(of_values.centred(weight, t + 1), of_keys.centred(weight, t + 1),
                                   weight.head(t + 1));
    const Growth last = rows[static_cast<std::size_t>(before)];
    for (Index between = before + 1; between <= t; ++between) {
      const double share = static_cast<double>(between - before) / static_cast<double>(t - before);
      rows[static_cast<std::size_t>(between)] = {last.both + share * (found.both - last.both),
                                                 last.one + share * (found.one - last.one)};
    }
    before = t;
  }
  PerPosition factor = without_means(scores);
  double keys_seen = 0;
  ArrayXd grown(size);
  for (Index t = 0; t < size; ++t) {
    keys_seen += weight[t];
    grown[t] = before_condensing(scores.second[t], keys_seen);
  }
  for (Index t = 0; t < size; ++t)
    for (Index u = 0; u < size; ++u) {
      const auto growth = [&](Index row, double correlation) {
        const Growth& of = rows[static_cast<std::size_t>(row)];
        return grown[row] * std::clamp(of.one + correlation * of.both, -kMost, kMost);
      };
      const double c = scores.cross(t, u);
      factor.cross(t, u) = std::exp((growth(t, c) + growth(u, c)) / 2);
      if (t == u) factor.second[t] = std::exp(growth(t, 1));
    }
  return factor;
}

}  // namespace scalecalc::moments
