#include "moments/attention_keys.hpp"

#include <algorithm>

#include "moments/key_weights.hpp"

namespace scalecalc::moments {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;

/// Token s between two positions: 1 - share of the left one, share of the next.
struct Place {
  Index left;
  double share;
};
Place place(const Positions& positions, Index s) {
  const int* const begin = positions.at.data();
  const int* const end = begin + positions.at.size();
  const Index left = std::upper_bound(begin, end, static_cast<int>(s)) - begin - 1;
  if (begin[left] == s) return {left, 0};
  return {left, static_cast<double>(s - begin[left]) / (begin[left + 1] - begin[left])};
}

/// Sums over the tokens up to (or from) each position, of a weight times what the state says of the
/// tokens between its positions.
class RunningSums {
 public:
  template <class Weight>
  RunningSums(const Positions& positions, bool from_the_end, const Weight& weight) {
    const Index size = positions.at.size(), tokens = static_cast<Index>(positions.tokens);
    for (MatrixXd* sums : {&once_, &twice_, &next_}) sums->setZero(size, size);
    Eigen::RowVectorXd once = Eigen::RowVectorXd::Zero(size), twice = once, next = once;
    for (Index step = 0; step < tokens; ++step) {
      const Index s = from_the_end ? tokens - 1 - step : step;
      const auto [left, share] = place(positions, s);
      const double w = weight(static_cast<double>(s)), kept = w * (1 - share), rest = w * share;
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

  ArrayXd singles(const ArrayXd& f) const { return (once_ * f.matrix()).array(); }
  /// Over pairs (s, s') with s in the sum of row t and s' in that of row u.
  ArrayXXd pairs(const ArrayXXd& f) const {
    return (once_ * f.matrix() * once_.transpose()).array();
  }
  /// Of those, s = s' where t = u.
  ArrayXd equal_pairs(const ArrayXXd& f) const {
    const Index size = f.rows();
    ArrayXd sum = (twice_ * f.matrix().diagonal()).array();
    if (size > 1) sum += (next_.leftCols(size - 1) * f.matrix().diagonal(1)).array();
    return sum;
  }

 private:
  MatrixXd once_, twice_, next_;
};

ArrayXd row_lengths(const Positions& positions) {
  return positions.at.cast<double>() + 1;
}

KeyMeans<PerPosition> masked_means(const PerPosition& queries, const PerPosition& keys) {
  const RunningSums prefix(*keys.positions, false, [](double) { return 1.0; });
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
  // Of sums over rows and pairs of rows: 1/n_t and 1/(n_t n_u) are in the weights, so that what is
  // interpolated is smooth.
  const RunningSums once(positions, true, [](double t) { return 1 / (t + 1); });
  const RunningSums others(positions, true, [](double t) { return t > 0 ? 1 / (t * (t + 1)) : 0; });
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
  const RunningSums prefix(*keys.positions, false, [](double) { return 1.0; });
  const ArrayXd n = row_lengths(*keys.positions);
  return prefix.pairs(keys.between) / (n.matrix() * n.matrix().transpose()).array();
}

ArrayXXd between_to_keys(const PerPosition& gradient, const PerPosition& keys,
                         const KeyCounts<double>& counts) {
  if (gradient.between.size() == 0) return keys.between;
  if (counts.weights) return counts.weights->between_to_keys(gradient.between);
  if (counts.causal) {
    const RunningSums suffix(*gradient.positions, true, [](double t) { return 1 / (t + 1); });
    return suffix.pairs(gradient.between);
  }
  const double each = counts.queries / counts.keys;
  return uniform(keys, scaled(average(gradient), each * each)).between;
}

KeyStructure key_structure(const PerPosition& x, Eigen::Index last) {
  const Eigen::Index size = last + 1;
  Eigen::ArrayXd weight = x.positions->weight.head(size);
  const double n = weight.sum();
  if (size < 2 || n <= 2) return {};
  // The key itself and its neighbours of the same position apart.
  Eigen::MatrixXd gram = x.cross.topLeftCorner(size, size).matrix();
  const Eigen::ArrayXd own = x.second.head(size) - x.cross.matrix().diagonal().head(size).array();
  const Eigen::VectorXd rows = (gram * weight.matrix() + own.matrix()) / n;
  const double mean = weight.matrix().dot(rows) / n;
  gram = ((gram.colwise() - rows).rowwise() - rows.transpose()).array() + mean;
  const Eigen::ArrayXd diagonal = gram.diagonal().array() + own;
  const double trace = (weight * diagonal).sum(), apart = trace / (n - 1);
  if (!(apart > 0)) return {};
  const Eigen::ArrayXXd others = gram.array() + apart / n;
  const Eigen::ArrayXd selves = diagonal - apart * (1 - 1 / n);
  const double same = (weight * others.matrix().diagonal().array().square()).sum();
  const double all = weight.matrix().dot(others.square().matrix() * weight.matrix());
  const double d2 = apart * apart;
  return {std::max(0.0, all - same) / (n * (n - 1) * d2),
          (weight * selves.square()).sum() / (n * d2)};
}

}  // namespace scalecalc::moments
