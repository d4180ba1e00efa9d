#include "moments/attention_rotation.hpp"

namespace scalecalc::moments {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;

/// What rounding leaves beside a key that has all the weight.
constexpr double kOneKey = 1e-12;

/// What turns, and the share of the features that stay, of scores' variance.
struct Turns {
  explicit Turns(const Attention& layer) : all(key_turns(layer)) {
    pairs = static_cast<Index>(layer.rotary.width / 2);
    if (static_cast<Index>(all.size()) > pairs) stays = all.back().share;
  }
  std::vector<KeyTurn> all;
  Index pairs = 0;
  double stays = 0;
  const KeyTurn& pair(Index i) const { return all[static_cast<std::size_t>(i)]; }
};

/// Sums over tokens `from` to `to` - 1 of cos(t theta) and sin(t theta), for each theta, and of 1
/// for the features that stay: rows whose products are sums of c(s - r) over pairs.
Eigen::RowVectorXd turned_sums(const Turns& turns, double from, double to) {
  const double tokens = to - from, centre = (from + to - 1) / 2;
  Eigen::RowVectorXd sums(2 * turns.pairs + 1);
  for (Index i = 0; i < turns.pairs; ++i) {
    const auto& [theta, share] = turns.pair(i);
    const double half = theta / 2, turn = std::sin(half);
    const double size = (half < 1e-12 ? tokens : std::sin(tokens * half) / turn) * std::sqrt(share);
    sums[2 * i] = size * std::cos(centre * theta);
    sums[2 * i + 1] = size * std::sin(centre * theta);
  }
  sums[2 * turns.pairs] = tokens * std::sqrt(turns.stays);
  return sums;
}

/// Means over the features of what cos(n theta) is on average over pairs of different tokens, and
/// of its square.
struct PairMeans {
  double cosine = 1, square = 1;
};
PairMeans pair_means(const Turns& turns, const Eigen::RowVectorXd& sums, double tokens) {
  if (tokens < 2) return {};
  const double pairs = tokens * (tokens - 1);
  PairMeans means{turns.stays, turns.stays};
  for (Index i = 0; i < turns.pairs; ++i) {
    const double share = turns.pair(i).share;
    const double all = sums[2 * i] * sums[2 * i] + sums[2 * i + 1] * sums[2 * i + 1];
    const double mean = (all / share - tokens) / pairs;
    means.cosine += share * mean;
    means.square += share * mean * mean;
  }
  return means;
}

/// |sum of e^(i t theta)|^2 of each theta, in the places of its cosine and its sine.
Eigen::RowVectorXd all_pairs(const Turns& turns, const Eigen::RowVectorXd& sums) {
  Eigen::RowVectorXd squares(sums.size());
  for (Index i = 0; i < turns.pairs; ++i)
    squares[2 * i] = squares[2 * i + 1] =
        (sums[2 * i] * sums[2 * i] + sums[2 * i + 1] * sums[2 * i + 1]) / turns.pair(i).share;
  const Index last = sums.size() - 1;
  squares[last] = turns.stays > 0 ? sums[last] * sums[last] / turns.stays : 0;
  return squares;
}

/// Of c over pairs of different tokens, from some of their distances where there are many.
double cosine_variance(const Turns& turns, double tokens) {
  constexpr double most = 64;
  const double distances = tokens - 1, tried = std::min(distances, most);
  double weights = 0, sum = 0, squares = 0;
  for (double j = 0; j < tried; ++j) {
    const double distance = 1 + std::floor((j + 0.5) / tried * distances);
    double c = turns.stays;
    for (Index i = 0; i < turns.pairs; ++i) {
      const auto& [theta, share] = turns.pair(i);
      c += share * std::cos(distance * theta);
    }
    const double weight = tokens - distance;
    weights += weight;
    sum += weight * c;
    squares += weight * c * c;
  }
  if (weights == 0) return 0;
  const double mean = sum / weights;
  return std::max(squares / weights - mean * mean, 0.0);
}

/// The tokens that are nearer to a position than to others: half the way to its neighbours.
struct Cell {
  double from, to;
};
Cell cell(const Positions& positions, Index j) {
  const Index last = positions.at.size() - 1;
  const auto between = [&](Index left) {
    return std::ceil((positions.at[left] + positions.at[left + 1]) / 2.0 + 0.25);
  };
  return {j == 0 ? 0.0 : between(j - 1),
          j == last ? static_cast<double>(positions.tokens) : between(j)};
}

/// c(t - u) of different tokens near two positions.
ArrayXXd cosines_of_rows(const Turns& turns, const Positions& positions) {
  const Index size = positions.at.size();
  MatrixXd sums(size, 2 * turns.pairs + 1);
  ArrayXd tokens(size);
  for (Index j = 0; j < size; ++j) {
    const Cell near = cell(positions, j);
    sums.row(j) = turned_sums(turns, near.from, near.to);
    tokens[j] = near.to - near.from;
  }
  const MatrixXd equal = tokens.matrix().asDiagonal();
  const ArrayXXd pairs = (tokens.matrix() * tokens.matrix().transpose() - equal).array();
  const ArrayXXd all = (sums * sums.transpose() - equal).array();
  return (pairs > 0).select(all / pairs.max(1.0), 1.0);
}

}  // namespace

double rotary_score_scale(const Attention& layer) {
  if (layer.rotary.attention == 1) return 1;
  const double turned =
      static_cast<double>(layer.rotary.width) / static_cast<double>(layer.head_width);
  return 1 - turned + std::pow(layer.rotary.attention, 4) * turned;
}

double rotary_features(const Attention& layer) {
  const auto head_width = static_cast<double>(layer.head_width);
  if (layer.rotary.attention == 1) return head_width;
  const auto width = static_cast<double>(layer.rotary.width);
  const double turned = std::pow(layer.rotary.attention, 4), stays = head_width - width;
  const double sum = stays + turned * width;
  return sum * sum / (stays + turned * turned * width);
}

std::vector<KeyTurn> key_turns(const Attention& layer) {
  const auto width = static_cast<double>(layer.rotary.width);
  const auto head_width = static_cast<double>(layer.head_width);
  const double all = head_width * rotary_score_scale(layer);
  std::vector<KeyTurn> turns;
  for (const double theta : rotary_frequencies(layer.rotary))
    turns.push_back({theta, 2 * std::pow(layer.rotary.attention, 4) / all});
  if (width < head_width) turns.push_back({0, (head_width - width) / all});
  return turns;
}

Eigen::MatrixXcd cell_turns(const Attention& layer, const Positions& positions) {
  const Turns turned(layer);
  Eigen::MatrixXcd turns(positions.at.size(), turned.pairs);
  for (Index j = 0; j < turns.rows(); ++j) {
    const Cell near = cell(positions, j);
    const Eigen::RowVectorXd sums = turned_sums(turned, near.from, near.to) / (near.to - near.from);
    for (Index i = 0; i < turned.pairs; ++i) {
      const double feature = std::sqrt(turned.pair(i).share);
      turns(j, i) = {sums[2 * i] / feature, sums[2 * i + 1] / feature};
    }
  }
  return turns;
}

RotaryMeans<Alike<double>> rotary_means(const Attention& layer, std::int64_t tokens) {
  const auto count = static_cast<double>(tokens);
  const Turns turns(layer);
  const PairMeans means = pair_means(turns, turned_sums(turns, 0, count), count);
  const double variance = cosine_variance(turns, count);
  return {{{0, 1, means.cosine, 0}, {0, means.cosine, means.square, 0}},
          {0, means.square, means.square, 0},
          {0, variance, variance, 0}};
}

RotaryMeans<PerPosition> masked_rotary_means(const Attention& layer, const PerPosition& rows) {
  const Positions& positions = *rows.positions;
  const Index size = positions.at.size();
  const ArrayXd n = positions.at.cast<double>() + 1;
  const PerPosition blank = without_means(rows);
  RotaryMeans<PerPosition> made{{blank, blank}, blank, blank};
  made.cosine.same.second.setOnes();
  const Turns turns(layer);
  made.cosine.same.cross = cosines_of_rows(turns, positions);
  // Over the pairs of keys that both rows see, |E(theta)|^2 cos((u - t) theta) of each frequency.
  MatrixXd places(size, 2 * turns.pairs + 1), sums = places;
  for (Index t = 0; t < size; ++t) {
    const Eigen::RowVectorXd all = turned_sums(turns, 0, n[t]);
    const PairMeans means = pair_means(turns, all, n[t]);
    made.cosine.other.second[t] = means.cosine;
    made.square.second[t] = means.square;
    made.variance.second[t] = cosine_variance(turns, n[t]);
    places.row(t) = turned_sums(turns, positions.at[t], n[t]);
    sums.row(t) = all_pairs(turns, all).cwiseProduct(places.row(t));
  }
  const ArrayXXd pairs = (sums * places.transpose()).array();
  for (Index t = 0; t < size; ++t)
    for (Index u = 0; u < size; ++u) {
      const Index fewer = std::min(t, u), more = std::max(t, u);
      const double keys = n[fewer], near = made.cosine.same.cross(t, u);
      made.cosine.other.cross(t, u) =
          keys > 1 ? (pairs(fewer, more) - keys * near) / (keys * (keys - 1)) : near;
    }
  return made;
}

RotaryMeans<PerPosition> weighed_rotary_means(const Attention& layer, const PerPosition& rows,
                                              const KeyWeights& weights) {
  RotaryMeans<PerPosition> made = masked_rotary_means(layer, rows);
  const ArrayXXd& shared = weights.overlap();
  const Index size = shared.rows();
  PerPosition& other = made.cosine.other;
  other = made.square = without_means(rows);
  const Turns turns(layer);
  for (const KeyTurn& turn : turns.all) {
    const ArrayXXd pairs = weights.turned_pairs(turn.theta);
    other.cross += turn.share * pairs;
    for (Index t = 0; t < size; ++t) {
      const double rest = 1 - shared(t, t), mean = (pairs(t, t) - shared(t, t)) / rest;
      if (!(rest > kOneKey)) continue;
      other.second[t] += turn.share * mean;
      made.square.second[t] += turn.share * mean * mean;
    }
  }
  for (Index t = 0; t < size; ++t) {
    made.variance.second[t] = cosine_variance(turns, std::round(1 / shared(t, t)));
    if (!(1 - shared(t, t) > kOneKey)) other.second[t] = made.square.second[t] = 1;
    for (Index u = 0; u < size; ++u) {
      const double near = made.cosine.same.cross(t, u), rest = 1 - shared(t, u);
      other.cross(t, u) = rest > kOneKey ? (other.cross(t, u) - shared(t, u) * near) / rest : near;
    }
  }
  return made;
}

}  // namespace scalecalc::moments
