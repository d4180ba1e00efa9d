#include "moments/turned_keys.hpp"

#include <algorithm>
#include <complex>

#include "moments/attention_rotation.hpp"

namespace scalecalc::moments {
namespace {

using Eigen::ArrayXcd;
using Eigen::ArrayXd;
using Eigen::ArrayXXcd;
using Eigen::ArrayXXd;
using Eigen::Index;

template <class Matrix>
Matrix summed_rows(Matrix x) {
  for (Index t = 1; t < x.rows(); ++t) x.row(t) += x.row(t - 1);
  return x;
}
template <class Matrix>
Matrix summed_columns(Matrix x) {
  for (Index t = 1; t < x.cols(); ++t) x.col(t) += x.col(t - 1);
  return x;
}

/// Means of the values' overlaps, over the keys that rows see.
class Centred {
 public:
  explicit Centred(const PerPosition& values)
      : weight(values.positions->weight),
        gram(values.cross),
        own(values.second - values.cross.matrix().diagonal().array()) {
    const Index size = weight.size();
    keys = weight;
    for (Index t = 1; t < size; ++t) keys[t] += keys[t - 1];
    to_key = summed_columns(ArrayXXd(gram.rowwise() * weight.transpose()));
    for (Index s = 0; s < size; ++s) to_key.row(s).tail(size - s) += own[s];
    ArrayXXd sums = summed_rows(ArrayXXd(to_key.colwise() * weight));
    to_key.rowwise() /= keys.transpose();
    rows = (sums.rowwise() / keys.transpose()).colwise() / keys;
    ArrayXd traces = weight * (gram.matrix().diagonal().array() + own);
    for (Index t = 1; t < size; ++t) traces[t] += traces[t - 1];
    apart = traces - keys * rows.matrix().diagonal().array();
  }
  ArrayXd weight;
  ArrayXXd gram;    ///< of different tokens near two positions
  ArrayXd own;      ///< what a token has with itself past that
  ArrayXd keys;     ///< of a row
  ArrayXXd to_key;  ///< (s, u): of key s with those of row u
  ArrayXXd rows;    ///< (t, u): of the keys of two rows
  ArrayXd apart;    ///< (n - 1) D
};

/// sum over keys of (C_t G C_u)_sr f_sr with weights, f_sr = K_sr conj(turn_s) turn_r.
ArrayXXcd over_pairs(const Centred& values, const ArrayXXd& keys, const ArrayXcd& turn) {
  const ArrayXcd right = turn * values.weight, left = right.conjugate();
  const ArrayXXcd turned =
      ((keys.cast<std::complex<double>>()).rowwise() * right.transpose()).colwise() * left;
  const ArrayXXcd of_row = summed_columns(turned);
  const ArrayXXcd plain =
      summed_rows(summed_columns(ArrayXXcd(turned * values.gram.cast<std::complex<double>>())));
  const ArrayXXcd from_mean =
      summed_rows(ArrayXXcd(of_row * values.to_key.cast<std::complex<double>>()));
  const ArrayXXcd all = summed_rows(of_row);
  return plain - from_mean - from_mean.matrix().adjoint().array() +
         all * values.rows.cast<std::complex<double>>();
}

/// sum over keys s that both rows see of (C_t G C_u)_ss f_s + own_s with weights.
ArrayXXd over_selves(const Centred& values, const ArrayXd& f, const ArrayXd& own) {
  const Index size = f.size();
  const ArrayXd weighted = values.weight * f;
  const ArrayXd gram = weighted * values.gram.matrix().diagonal().array() + values.weight * own;
  // (s, u) summed over s.
  const ArrayXXd from_mean = summed_rows(ArrayXXd(values.to_key.colwise() * weighted));
  ArrayXd plain = gram, all = weighted;
  for (Index s = 1; s < size; ++s) {
    plain[s] += plain[s - 1];
    all[s] += all[s - 1];
  }
  ArrayXXd sums(size, size);
  for (Index t = 0; t < size; ++t)
    for (Index u = 0; u < size; ++u) {
      const Index both = std::min(t, u);
      sums(t, u) =
          plain[both] - from_mean(both, t) - from_mean(both, u) + values.rows(t, u) * all[both];
    }
  return sums;
}

}  // namespace

PerPosition turned_by_values(const Attention& layer, const Eigen::ArrayXXd& rows,
                             const PerPosition& values, const PerPosition& keys) {
  const Centred centred(values);
  const Index size = centred.weight.size();
  const ArrayXd selves = keys.second - keys.cross.matrix().diagonal().array();
  const ArrayXXd same = over_selves(centred, selves, centred.own * keys.second);
  ArrayXXd of_rows = rows * same;
  ArrayXd of_row = same.matrix().diagonal().array();
  const auto add = [&](double share, const ArrayXcd& turn) {
    const ArrayXXcd pairs = over_pairs(centred, keys.cross, turn);
    of_rows += share * (pairs * (turn.matrix() * turn.matrix().adjoint()).array()).real();
    of_row += share * pairs.matrix().diagonal().array().real();
  };
  const Eigen::MatrixXcd turns = cell_turns(layer, *values.positions);
  const std::vector<KeyTurn> shares = key_turns(layer);
  for (Index i = 0; i < turns.cols(); ++i)
    add(shares[static_cast<std::size_t>(i)].share, turns.col(i).array());
  if (static_cast<Index>(shares.size()) > turns.cols())
    add(shares.back().share, ArrayXcd::Ones(size));
  PerPosition found = without_means(keys);
  for (Index t = 0; t < size; ++t) {
    const auto per_pair = [&](double sum, Index fewer) {
      return centred.apart[fewer] > 0 ? sum / centred.apart[fewer] : 0;
    };
    found.second[t] = std::max(per_pair(of_row[t], t), 0.0);
    for (Index u = 0; u < size; ++u) found.cross(t, u) = per_pair(of_rows(t, u), std::min(t, u));
  }
  return found;
}

}  // namespace scalecalc::moments
