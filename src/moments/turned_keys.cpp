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
/// From each row, or column, to the last.
template <class Matrix>
Matrix rows_from(Matrix x) {
  for (Index t = x.rows() - 1; t > 0; --t) x.row(t - 1) += x.row(t);
  return x;
}
template <class Matrix>
Matrix columns_from(Matrix x) {
  for (Index t = x.cols() - 1; t > 0; --t) x.col(t - 1) += x.col(t);
  return x;
}

/// Means of the values' overlaps, over the keys that rows see.
class Centred {
 public:
  Centred(const PerPosition& values, const PerPosition& d)
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
    const ArrayXd own_apart = traces - keys * rows.matrix().diagonal().array();
    apart = ArrayXXd::Zero(size, size);
    for (Index t = 0; t < size; ++t)
      for (Index u = 0; u < size; ++u) {
        const Index fewer = std::min(t, u);
        if (own_apart[fewer] > 0 && d.second[fewer] > 0)
          apart(t, u) =
              own_apart[fewer] * (t == u ? 1 : std::max(d.cross(t, u), 0.0) / d.second[fewer]);
      }
  }
  /// x of rows t and u over their (n - 1) D_tu, 0 where that is.
  double per_pair(double x, Index t, Index u) const {
    return apart(t, u) > 0 ? x / apart(t, u) : 0;
  }
  ArrayXd weight;
  ArrayXXd gram;    ///< of different tokens near two positions
  ArrayXd own;      ///< what a token has with itself past that
  ArrayXd keys;     ///< of a row
  ArrayXXd to_key;  ///< (s, u): of key s with those of row u
  ArrayXXd rows;    ///< (t, u): of the keys of two rows
  ArrayXXd apart;   ///< (t, u): (n - 1) D_tu, n of the row that sees fewer
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
                             const PerPosition& values, const PerPosition& keys,
                             const PerPosition& apart) {
  const Centred centred(values, apart);
  const Index size = centred.weight.size();
  const ArrayXd selves = keys.second - keys.cross.matrix().diagonal().array();
  const ArrayXXd same = over_selves(centred, selves, centred.own * keys.second);
  ArrayXXd of_rows = rows * same;
  ArrayXd of_row = same.matrix().diagonal().array();
  over_turns(layer, *values.positions, [&](double share, const ArrayXcd& turn) {
    const ArrayXXcd pairs = over_pairs(centred, keys.cross, turn);
    of_rows += share * (pairs * (turn.matrix() * turn.matrix().adjoint()).array()).real();
    of_row += share * pairs.matrix().diagonal().array().real();
  });
  PerPosition found = without_means(keys);
  for (Index t = 0; t < size; ++t) {
    found.second[t] = std::max(centred.per_pair(of_row[t], t, t), 0.0);
    for (Index u = 0; u < size; ++u) found.cross(t, u) = centred.per_pair(of_rows(t, u), t, u);
  }
  return found;
}

PerPosition turned_to_keys(const Attention& layer, const PerPosition& values,
                           const PerPosition& apart, const PerPosition& gradient) {
  const Centred centred(values, apart);
  const Index size = centred.weight.size();
  // Of two rows of tokens near t and u, and what a row has with itself past two near it.
  ArrayXXd rows(size, size);
  ArrayXd own(size);
  for (Index t = 0; t < size; ++t) {
    for (Index u = 0; u < size; ++u)
      rows(t, u) =
          centred.weight[t] * centred.weight[u] * centred.per_pair(gradient.cross(t, u), t, u);
    own[t] = centred.weight[t] * centred.per_pair(gradient.second[t] - gradient.cross(t, t), t, t);
  }
  const ArrayXXcd of_rows = centred.rows.cast<std::complex<double>>(),
                  to_key = centred.to_key.transpose().cast<std::complex<double>>(),
                  gram = centred.gram.cast<std::complex<double>>();
  PerPosition out = without_means(gradient);
  over_turns(layer, *values.positions, [&](double share, const ArrayXcd& turn) {
    const ArrayXXcd turned = (turn.matrix() * turn.matrix().adjoint()).array();
    ArrayXXcd seen = rows * turned;
    seen.matrix().diagonal().array() += own;
    const ArrayXXcd counts = rows_from(columns_from(seen));
    const ArrayXXcd from_mean = rows_from(ArrayXXcd(to_key * columns_from(seen)));
    const ArrayXXcd others = rows_from(columns_from(ArrayXXcd(seen * of_rows))) - from_mean -
                             from_mean.matrix().adjoint().array();
    out.cross += share * ((gram * counts + others) * turned.conjugate()).real();
    out.second += share * (values.second * counts.matrix().diagonal().array().real() +
                           others.matrix().diagonal().array().real());
  });
  return out;
}

}  // namespace scalecalc::moments
