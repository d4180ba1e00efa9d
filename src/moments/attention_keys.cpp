#include "moments/attention_keys.hpp"

#include <algorithm>
#include <cmath>

#include "moments/key_weights.hpp"
#include "moments/masked_sums.hpp"

namespace scalecalc::moments {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;

ArrayXd row_lengths(const Positions& positions) {
  return positions.at.cast<double>() + 1;
}

KeyMeans<PerPosition> masked_means(const PerPosition& queries, const PerPosition& keys) {
  const RunningSums& prefix = keys.positions->masked->keys;
  const ArrayXd n = row_lengths(*keys.positions);
  const ArrayXd second = prefix.singles(keys.second) / n, own = prefix.equal_pairs(keys.cross);
  const ArrayXXd pairs = prefix.pairs(keys.cross);
  KeyMeans<PerPosition> out{without_means(queries), without_means(queries)};
  for (Index t = 0; t < n.size(); ++t) {
    for (Index u = 0; u < n.size(); ++u) {
      const Index shorter = std::min(t, u);
      const double others = n[t] * n[u] - n[shorter];
      out.same.cross(t, u) = second[shorter];
      out.other.cross(t, u) = others > 0 ? (pairs(t, u) - own[shorter]) / others : second[shorter];
    }
    out.same.second[t] = second[t];
    out.other.second[t] = out.other.cross(t, t);
  }
  return out;
}

PerPosition masked_to_keys(const PerPosition& same, const PerPosition& other) {
  const Positions& positions = *same.positions;
  const ArrayXd n = row_lengths(positions);
  const Index size = n.size();
  const RunningSums& once = positions.masked->rows;
  const RunningSums& others = positions.masked->others;
  ArrayXXd of_same(size, size), of_other(size, size);
  for (Index t = 0; t < size; ++t) {
    for (Index u = 0; u < size; ++u) {
      const double pairs = n[t] * n[u] - std::min(n[t], n[u]);
      of_same(t, u) = same.cross(t, u) * std::max(n[t], n[u]);
      of_other(t, u) = pairs > 0 ? other.cross(t, u) * n[t] * n[u] / pairs : 0;
    }
  }
  PerPosition out = without_means(same);
  out.second = once.singles(same.second) + once.pairs(of_same).matrix().diagonal().array() -
               once.equal_pairs(of_same);
  const ArrayXd rows = others.singles(other.second), own = once.equal_pairs(of_other);
  out.cross = once.pairs(of_other);
  for (Index s = 0; s < size; ++s) {
    for (Index r = 0; r < size; ++r) out.cross(s, r) += rows[std::max(s, r)] - own[std::max(s, r)];
  }
  return out;
}

}  // namespace

KeyMeans<PerPosition> key_means(const PerPosition& queries, const PerPosition& keys,
                                const KeyCounts<double>& counts) {
  if (counts.weights) return counts.weights->means(keys);
  if (counts.causal) return masked_means(queries, keys);
  const Alike<double> mean = average(keys);
  return {uniform(queries, Alike<double>{0, mean.second, mean.second, 0}),
          uniform(queries, Alike<double>{0, mean.cross, mean.cross, 0})};
}

PerPosition to_keys(const PerPosition& same, const PerPosition& other, const PerPosition& keys,
                    const KeyCounts<double>& counts) {
  if (counts.weights) return counts.weights->to_keys(same, other);
  if (counts.causal) return masked_to_keys(same, other);
  return uniform(keys, to_keys(average(same), average(other), Alike<double>{}, counts));
}

ArrayXXd between_means(const PerPosition& queries, const PerPosition& keys,
                       const KeyCounts<double>& counts) {
  if (keys.between.size() == 0) return queries.between;
  if (counts.weights) return counts.weights->between_means(keys.between);
  if (!counts.causal) return uniform(queries, average(keys)).between;
  const RunningSums& prefix = keys.positions->masked->keys;
  const ArrayXd n = row_lengths(*keys.positions);
  return prefix.pairs(keys.between) / (n.matrix() * n.matrix().transpose()).array();
}

ArrayXXd between_to_keys(const PerPosition& gradient, const PerPosition& keys,
                         const KeyCounts<double>& counts) {
  if (gradient.between.size() == 0) return keys.between;
  if (counts.weights) return counts.weights->between_to_keys(gradient.between);
  if (counts.causal) {
    return gradient.positions->masked->rows.pairs(gradient.between);
  }
  const double each = counts.queries / counts.keys;
  return uniform(keys, scaled(average(gradient), each * each)).between;
}

namespace {

/// About the mean over the first tokens, of these weights: what x_s.x_s' of different tokens and of
/// one have beyond independent ones of the same D.
struct CentredGram {
  ArrayXXd others;
  ArrayXd selves;
  double apart = 0;  ///< D
  CentredGram(const PerPosition& x, const ArrayXd& weight) {
    const Index size = weight.size();
    const double n = weight.sum();
    // The key itself and its neighbours of the same position apart.
    MatrixXd gram = x.cross.topLeftCorner(size, size).matrix();
    const ArrayXd own = x.second.head(size) - gram.diagonal().array();
    const Eigen::VectorXd rows = (gram * weight.matrix() + own.matrix()) / n;
    const double mean = weight.matrix().dot(rows) / n;
    gram = ((gram.colwise() - rows).rowwise() - rows.transpose()).array() + mean;
    const ArrayXd diagonal = gram.diagonal().array() + own;
    apart = (weight * diagonal).sum() / (n - 1);
    others = gram.array() + apart / n;
    selves = diagonal - apart * (1 - 1 / n);
  }
};

}  // namespace

KeyStructure key_structure(const PerPosition& tokens, const PerPosition& keys, Index last) {
  const ArrayXd weight = tokens.positions->weight.head(last + 1);
  const double n = weight.sum();
  if (last < 1 || n <= 2) return {};
  const CentredGram values(tokens, weight);
  const CentredGram scores = &keys == &tokens ? values : CentredGram(keys, weight);
  if (!(values.apart > 0) || !(scores.apart > 0)) return {};
  const double scale = values.apart * scores.apart;
  const ArrayXXd product = values.others * scores.others;
  const double same = (weight * product.matrix().diagonal().array()).sum();
  const double all = weight.matrix().dot(product.matrix() * weight.matrix());
  return {(all - same) / (n * (n - 1) * scale),
          (weight * values.selves * scores.selves).sum() / (n * scale)};
}

/// Of small scores p_s^2 of a key of k_s times the mean size has e^(2 tau2 (k_s - 1)) of what
/// others have and p_s p'_s of two rows e^(tau2 (k_s - 1)), until one key has all the weight.
OmittedSizes omitted_sizes(const PerPosition& x, const ArrayXd& tau2, const std::vector<double>& p2,
                           bool causal) {
  const ArrayXd& weight = x.positions->weight;
  const ArrayXd apart = (x.second - average(x).cross).max(0);
  const auto beside = [](double part, double exponent) {
    constexpr double all = 50;  // past which nothing is left to grow
    const double grown = std::expm1(std::min(exponent, all)) * part;
    return grown / (1 + grown / (1 - part));
  };
  OmittedSizes sizes;
  double rows = 0, pairs = 0;
  for (Index t = 0; t < apart.size(); ++t) {
    const Index seen = causal ? t + 1 : apart.size();
    const double n = causal ? x.positions->at[t] + 1.0 : static_cast<double>(x.positions->tokens);
    const double of_row = p2[static_cast<std::size_t>(t)];
    const double mean = (weight * apart).head(seen).sum() / std::max(weight.head(seen).sum(), 1.0);
    rows += weight[t] * mean * of_row;
    pairs += weight[t] * mean / n;
    if (n < 3 || !(mean > 0)) continue;
    // Of two keys the scores about their mean are one number.
    const double share = (1 - 2 / n) * weight[t];
    for (Index s = 0; s < seen; ++s) {
      const double more = tau2[t] * (apart[s] / mean - 1);
      if (!(more > 0)) continue;
      sizes.row += share * weight[s] * apart[s] * beside(of_row / n, 2 * more);
      sizes.pair += share * weight[s] * apart[s] * beside(1 / (n * n), more);
    }
  }
  if (rows > 0) sizes = {sizes.row / rows, sizes.pair / pairs};
  return sizes;
}

}  // namespace scalecalc::moments
