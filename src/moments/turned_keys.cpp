#include "moments/turned_keys.hpp"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/recent.hpp"
#include "moments/attention_rotation.hpp"

namespace scalecalc::moments {
namespace {

using Eigen::ArrayXcd;
using Eigen::ArrayXd;
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

/// Pairs of features that turn are independent of each other: this many are in a vector's lanes.
constexpr Index kLanes = 8;
using Lanes = Eigen::Array<double, kLanes, 1>;
struct Turned {
  Lanes re = Lanes::Zero(), im = Lanes::Zero();

  void add(double factor, const Turned& x) {
    re += factor * x.re;
    im += factor * x.im;
  }
};
/// conj(a) b.
[[gnu::always_inline]] inline Turned conjugate_product(const Turned& a, const Turned& b) {
  return {a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
}
/// Sum of share Re(a b).
[[gnu::always_inline]] inline double real_sum(const Lanes& share, const Turned& a,
                                              const Turned& b) {
  return (share * (a.re * b.re - a.im * b.im)).sum();
}

/// Of so many pairs of features, what over_turns() gives; shares of lanes to spare are 0.
struct TurnBlock {
  explicit TurnBlock(Index positions) : at(static_cast<std::size_t>(positions)) {}
  Lanes share = Lanes::Zero();
  std::vector<Turned> at;
};
std::vector<TurnBlock> turn_blocks(const Attention& layer, const Positions& positions) {
  std::vector<TurnBlock> blocks;
  Index lane = kLanes;
  over_turns(layer, positions, [&](double share, const ArrayXcd& turn) {
    if (lane == kLanes) {
      blocks.emplace_back(turn.size());
      lane = 0;
    }
    blocks.back().share[lane] = share;
    for (Index t = 0; t < turn.size(); ++t) {
      Turned& at = blocks.back().at[static_cast<std::size_t>(t)];
      at.re[lane] = turn[t].real();
      at.im[lane] = turn[t].imag();
    }
    ++lane;
  });
  return blocks;
}

struct TurnsKey {
  std::shared_ptr<const Positions> positions;
  Rotary rotary;
  std::int64_t head_width = 0;
  friend bool operator==(const TurnsKey&, const TurnsKey&) = default;
};
const std::vector<TurnBlock>& known_turns(const Attention& layer,
                                          const std::shared_ptr<const Positions>& positions) {
  thread_local base::Recent<TurnsKey, std::vector<TurnBlock>> known;
  return known({positions, layer.rotary, layer.head_width},
               [&] { return turn_blocks(layer, *positions); });
}

/// Of two rows, and of one with itself.
struct RowSums {
  ArrayXXd of_rows;
  ArrayXd of_row;
};

/// Adds the sums over keys of (C_t G C_u)_sr f_sr with weights, f_sr = K_sr conj(turn_s) turn_r, of
/// each pair of features times its share, turned by turn_t conj(turn_u). `keys`: K with weights.
void add_pairs(const Centred& values, const ArrayXXd& keys, const TurnBlock& turns, RowSums& sums) {
  const auto size = static_cast<std::size_t>(keys.rows());
  const ArrayXXd products = keys * values.gram;
  // Of each key s, over the keys r of row u.
  std::vector<Turned> of_key(size), of_product(size);
  for (Index u = 0; u < keys.cols(); ++u) {
    const Turned& right = turns.at[static_cast<std::size_t>(u)];
    Turned plain, from_mean, all;
    for (Index t = 0; t < keys.rows(); ++t) {
      const auto at = static_cast<std::size_t>(t);
      const Turned& left = turns.at[at];
      of_key[at].add(keys(t, u), right);
      of_product[at].add(products(t, u), right);
      const Turned of_this = conjugate_product(left, of_key[at]);
      all.add(1, of_this);
      from_mean.add(values.to_key(t, u), of_this);
      plain.add(1, conjugate_product(left, of_product[at]));
      Turned centred = plain;
      centred.add(values.rows(t, u), all);
      const Turned turned = conjugate_product(right, left);
      const double mean = real_sum(turns.share, from_mean, turned);
      sums.of_rows(t, u) += real_sum(turns.share, centred, turned) - mean;
      sums.of_rows(u, t) -= mean;
      if (t == u) sums.of_row[t] += (turns.share * (centred.re - 2 * from_mean.re)).sum();
    }
  }
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

/// Adds to keys s and r of all rows from them on g (C_t G C_u)_sr turn_t conj(turn_u), turned back,
/// of each pair of features times its share. `rows`: g with weights.
void add_to_keys(const Centred& values, const ArrayXd& second, const RowSums& rows,
                 const TurnBlock& turns, PerPosition& out) {
  const Index size = second.size();
  // Of each row t, over the rows u from r on.
  std::vector<Turned> seen(static_cast<std::size_t>(size)), seen_rows = seen;
  for (Index r = size - 1; r >= 0; --r) {
    const Turned& right = turns.at[static_cast<std::size_t>(r)];
    Turned counts, from_mean, others;
    for (Index s = size - 1; s >= 0; --s) {
      const auto at = static_cast<std::size_t>(s);
      const Turned turned = conjugate_product(right, turns.at[at]);
      seen[at].add(rows.of_rows(s, r), turned);
      seen_rows[at].add(rows.of_rows(s, r) * values.rows(s, r), turned);
      if (s == r) {
        seen[at].re += rows.of_row[s];
        seen_rows[at].re += rows.of_row[s] * values.rows(s, s);
      }
      counts.add(1, seen[at]);
      from_mean.add(values.to_key(r, s), seen[at]);
      others.add(1, seen_rows[at]);
      const Turned back{turned.re, -turned.im};
      Turned all = others;
      all.add(values.gram(s, r), counts);
      const double mean = real_sum(turns.share, from_mean, back);
      out.cross(s, r) += real_sum(turns.share, all, back) - mean;
      out.cross(r, s) -= mean;
      if (s == r)
        out.second[s] +=
            (turns.share * (second[s] * counts.re + others.re - 2 * from_mean.re)).sum();
    }
  }
}

}  // namespace

PerPosition turned_by_values(const Attention& layer, const Eigen::ArrayXXd& rows,
                             const PerPosition& values, const PerPosition& keys,
                             const PerPosition& apart) {
  const Centred centred(values, apart);
  const Index size = centred.weight.size();
  const ArrayXd selves = keys.second - keys.cross.matrix().diagonal().array();
  const ArrayXXd same = over_selves(centred, selves, centred.own * keys.second);
  RowSums sums{rows * same, same.matrix().diagonal().array()};
  const ArrayXXd weighted =
      (keys.cross.rowwise() * centred.weight.transpose()).colwise() * centred.weight;
  for (const TurnBlock& turns : known_turns(layer, values.positions))
    add_pairs(centred, weighted, turns, sums);
  PerPosition found = without_means(keys);
  for (Index t = 0; t < size; ++t) {
    found.second[t] = std::max(centred.per_pair(sums.of_row[t], t, t), 0.0);
    for (Index u = 0; u < size; ++u) found.cross(t, u) = centred.per_pair(sums.of_rows(t, u), t, u);
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
  PerPosition out = without_means(gradient);
  for (const TurnBlock& turns : known_turns(layer, values.positions))
    add_to_keys(centred, values.second, {rows, own}, turns, out);
  return out;
}

}  // namespace scalecalc::moments
