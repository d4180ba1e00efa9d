#include "moments/head_lengths.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "moments/condensed_softmax.hpp"

namespace scalecalc::moments {

SoftmaxOrders orders_at(double keys, double tau2) {
  const CondensedScores scores(tau2);
  const double whole = std::round(keys);
  if (keys == whole)
    return scores.orders(softmax_orders(static_cast<std::int64_t>(whole), scores.tau2));
  return scores.orders(SoftmaxRows({{keys, scores.tau2}}).orders(0));
}

namespace {

void add(double weight, const RowFactors<double>& row, RowFactors<double>& sum) {
  sum.mix += weight * row.mix;
  sum.value += weight * row.value;
  sum.query += weight * row.query;
  sum.key += weight * row.key;
  sum.key_weight += weight * row.key_weight;
  sum.value_weight += weight * row.value_weight;
  sum.score += weight * row.score;
  sum.omitted_value += weight * row.omitted_value;
  sum.omitted_score += weight * row.omitted_score;
}

/// Derivatives are in tau2 of the average, which a row's at X tau2 follows X times.
void add(double weight, double x, const SoftmaxOrders& row, SoftmaxOrders& sum) {
  sum.p2 += weight * row.p2;
  sum.p2_slope += weight * x * row.p2_slope;
  sum.p2_curvature += weight * x * x * row.p2_curvature;
  sum.a += weight * row.a;
  sum.a_slope += weight * x * row.a_slope;
  sum.a_curvature += weight * x * x * row.a_curvature;
  sum.t2 += weight * row.t2;
  sum.m2 += weight * row.m2;
  sum.b += weight * row.b;
  sum.hp2 += weight * row.hp2;
  sum.ha += weight * row.ha;
  sum.q1 += weight * row.q1;
  sum.q2 += weight * row.q2;
  sum.s += weight * row.s;
  sum.jp += weight * row.jp;
  sum.error = std::max(sum.error, row.error);
}

}  // namespace

/// Unit vectors of d_h features leave tau2^2/(2 d_h) of two rows' overlap
/// (docs/theory/attention.md#qk-norm): past a percent they are taken as such, up to as many
/// features as their sphere has a rule for.
bool HeadLengths::are_few(const Smallness& small, double tau2) {
  constexpr double most_of_unit = 64, sharp = 0.02;
  const bool unit =
      small.qk_norm && small.head_width <= most_of_unit && tau2 * tau2 > sharp * small.head_width;
  return unit || small.head_width <= most_features;
}

/// Density X^k e^{-k X} of ln X, k = d_h/2, of variance about 1/k: a sum over steps h leaves out
/// e^{-2 pi^2/(k h^2)} of it and about e^{-2 pi/h} of what changes over a factor e of X. Where less
/// than `ends` of the density is left, its last point has that too. The mean of X is 1: differences
/// of small tau2 (P2 - O) are what it makes.
std::vector<HeadLengths::Point> HeadLengths::lengths(double features) {
  constexpr double ends = 1e-3;
  const double k = features / 2, step = std::min(0.6, 1.2 / std::sqrt(k));
  const auto density = [&](double at) { return std::exp(k * (at - std::expm1(at))); };
  std::vector<Point> points;
  double total = 0;
  const auto walk = [&](double from, double by) {
    for (double at = from;; at += by) {
      const double weight = density(at);
      points.push_back({std::exp(at), weight});
      total += weight;
      // X^k/k is left below, and less above; of all it is (2 pi/k)^(1/2).
      if (weight < ends * std::sqrt(2 * std::numbers::pi * k)) break;
    }
  };
  walk(0, -step);
  std::reverse(points.begin(), points.end());
  walk(step, step);
  double mean = 0;
  for (const Point& point : points) mean += point.weight / total * point.x;
  for (Point& point : points) point = {point.x / mean, point.weight / total};
  return points;
}

HeadLengths::HeadLengths(double features) : features_(features), points_(lengths(features)) {}

AveragedRow HeadLengths::row(double keys, double tau2, double cosine, double plain,
                             const Smallness& small) const {
  Smallness given = small;
  given.averaged = true;
  AveragedRow out;
  RowFactors<double> every_second;
  double weights = 0;
  const std::vector<Point> points = tau2 <= even ? std::vector<Point>{{1, 1}} : points_;
  for (std::size_t n = 0; n < points.size(); ++n) {
    const auto [x, weight] = points[n];
    const SoftmaxOrders orders = orders_at(keys, x * tau2);
    RowFactors<double> row = row_factors(orders, x * tau2, cosine, plain, given);
    // What comes to a key is as long as the query.
    row.key *= x;
    row.key_weight *= x;
    add(weight, row, out.factors);
    add(weight, x, orders, out.orders);
    if (n % 2 == 1) continue;
    add(weight, row, every_second);
    weights += weight;
  }
  // Half of the points halve the digits.
  const auto square = [&](double fine, double coarse) {
    const double difference = fine > 0 ? coarse / (weights * fine) - 1 : 0;
    return difference * difference;
  };
  RowFactors<double>& fine = out.factors;
  fine.omitted_value += square(fine.mix, every_second.mix);
  fine.omitted_score +=
      std::max(square(fine.query, every_second.query), square(fine.key, every_second.key));
  return out;
}

AveragedPair HeadLengths::even_pair(double keys, double tau2, double cosine,
                                    const SoftmaxOverlaps& mean) const {
  const SoftmaxOrders one = orders_at(keys, tau2);
  return {mean, cosine, one.a > 0 ? (one.b / one.a - 1) / features_ : 0, 0};
}

namespace {

std::vector<SoftmaxRows::Row> rows_at(const std::vector<double>& keys,
                                      const std::vector<double>& tau2,
                                      const std::vector<double>& lengths) {
  std::vector<SoftmaxRows::Row> rows;
  for (std::size_t t = 0; t < keys.size(); ++t)
    for (const double length : lengths)
      rows.push_back({keys[t], CondensedScores(length * tau2[t]).tau2});
  return rows;
}

}  // namespace

PairLengths::PairLengths(const HeadLengths& lengths, const std::vector<double>& keys,
                         const std::vector<double>& tau2, int threads, double beyond)
    : of_(lengths), keys_(keys), tau2_(tau2), rows_({}, 1) {
  longest_ = beyond * of_.points_.back().x;
  double mean = 0;
  for (const double variance : tau2) mean += variance / static_cast<double>(tau2.size());
  half_ = 1 / std::sqrt(mean + 1 / longest_);
  // Lengths of few features differ most.
  places_ = {0, place(longest_), of_.features_ > 2 ? 6 : of_.features_ > 1 ? 8 : 12};
  for (const double at : places_.at()) at_.push_back(std::pow(half_ * at / (1 - at), 2));
  cosines_ = {-1, 1, of_.features_ > 2 ? 6 : 8};
  // Two queries of one feature are along each other.
  angles_ = of_.features_ > 1 ? cosines_.at() : std::vector<double>{-1, 1};
  rows_ = SoftmaxRows(rows_at(keys, tau2, at_), threads);
}

std::vector<double> PairLengths::angle_weights(double cosine) const {
  if (of_.features_ > 1) return cosines_.weights(cosine);
  return {cosine < 0 ? 1.0 : 0.0, cosine < 0 ? 0.0 : 1.0};
}

namespace {

/// Opposed scores share nothing any more beyond -c tau2 ln(n + 1) of this.
constexpr double opposed = 10;
/// Beyond this variance rows of one query are taken as one.
constexpr double sharp = 4;

/// At c = 1 rows are one, O = P2 and A' = A: sharp ones at the geometric mean of their variances.
SoftmaxOverlaps of_one_query(double keys, double tau2) {
  const SoftmaxOrders one = orders_at(keys, tau2);
  SoftmaxOverlaps out;
  out.overlap = one.p2;
  out.a_prime = one.a;
  out.square = one.t2 - 1 + 2 * one.p2;
  return out;
}

}  // namespace

/// Mehler's series is short up to about this variance, whose longest rows sharper ones would need.
bool PairLengths::covers(const HeadLengths& lengths, double tau2, bool alike) {
  constexpr double most = 8;
  const bool is_one_line = lengths.features_ <= 1 && alike;
  return is_one_line || tau2 * lengths.points_.back().x <= most;
}

PairLengths::Grid PairLengths::grid(std::size_t row, std::size_t other, double turned) const {
  const std::size_t lengths = at_.size();
  Grid out(lengths, Plane(angles_.size(), std::vector<Values>(lengths)));
  // Of two rows that are one row, the lengths the other way round are the same.
  const auto each = [&](const auto& use) {
    for (std::size_t i = 0; i < lengths; ++i) {
      for (std::size_t j = row == other ? i : 0; j < lengths; ++j) {
        const double tau2 = std::sqrt(at_[i] * tau2_[row] * at_[j] * tau2_[other]);
        const double least = -opposed / std::max(tau2 * std::log(keys_[row] + 1), opposed);
        for (std::size_t k = 0; k < angles_.size(); ++k) {
          const double c = std::max(turned * angles_[k], least);
          const bool is_one = c == 1 && tau2 > sharp && keys_[row] == keys_[other];
          use(i, j, k, is_one ? std::optional(tau2) : std::nullopt, c);
        }
      }
    }
  };
  std::vector<SoftmaxRows::Pair> asked;
  each([&](std::size_t i, std::size_t j, std::size_t, std::optional<double> of_one, double c) {
    if (!of_one) asked.push_back({row * lengths + i, other * lengths + j, c});
  });
  const std::vector<SoftmaxOverlaps> overlaps = rows_.overlaps_of(asked, 1);
  std::size_t next = 0;
  each([&](std::size_t i, std::size_t j, std::size_t k, std::optional<double> of_one, double) {
    const SoftmaxOrders &one = rows_.orders(row * lengths + i),
                        &two = rows_.orders(other * lengths + j);
    const double b = std::sqrt(std::max(0.0, one.b * two.b)), a = std::sqrt(one.a * two.a);
    const double along = a > 0 ? b / a - 1 : 0;
    const SoftmaxOverlaps found = of_one ? of_one_query(keys_[row], *of_one) : overlaps[next++];
    out[i][k][j] = {found.overlap, found.a_prime, found.square, found.a_prime * along};
    if (row == other) out[j][k][i] = out[i][k][j];
  });
  return out;
}

PairLengths::Plane PairLengths::at_length(const Grid& grid, double length) const {
  const std::vector<double> places = places_.weights(place(std::min(length, longest_)));
  Plane plane(angles_.size(), std::vector<Values>(at_.size()));
  for (std::size_t i = 0; i < at_.size(); ++i)
    for (std::size_t k = 0; k < plane.size(); ++k)
      for (std::size_t j = 0; j < at_.size(); ++j)
        for (std::size_t q = 0; q < quantities; ++q) plane[k][j][q] += places[i] * grid[i][k][j][q];
  return plane;
}

PairLengths::Values PairLengths::at(const Plane& plane, double length, double cosine) const {
  const std::vector<double> places = places_.weights(place(std::min(length, longest_)));
  const std::vector<double> angles = angle_weights(cosine);
  Values found{};
  for (std::size_t k = 0; k < angles.size(); ++k)
    for (std::size_t j = 0; j < places.size(); ++j)
      for (std::size_t q = 0; q < quantities; ++q)
        found[q] += angles[k] * places[j] * plane[k][j][q];
  return found;
}

/// Sharp rows are compared at the geometric mean of their variances (softmax_overlaps); rows of one
/// query share as much as the flatter has with itself at least.
double PairLengths::unlike_lengths(std::size_t row, double one, double other) const {
  const double mean = std::sqrt(one * other);
  if (!(mean * tau2_[row] > sharp)) return 0;
  const auto second = [&](double length) {
    return places_(place(std::min(length, longest_)),
                   [&](std::size_t i) { return rows_.orders(row * at_.size() + i).p2; });
  };
  return std::max(0.0, second(mean) - second(std::min(one, other)));
}

/// q' = cosine q + sine n of a normal n, of which one feature lies along q and d_h - 1 do not.
AveragedPair PairLengths::average(const Grid& values, std::size_t row, std::size_t other,
                                  double cosine, const SoftmaxOverlaps& mean, double times) const {
  const double features = of_.features_, sine = std::sqrt(std::max(0.0, 1 - cosine * cosine));
  // Of d_h - 1 features across q: of none there is nothing.
  using Points = std::vector<HeadLengths::Point>;
  const Points across = features > 1 ? HeadLengths::lengths(features - 1) : Points{{0, 1}};
  // Sharp rows change where q.q' does its sign, over 1/tau.
  constexpr double reach = 3.6;
  const double tau = std::sqrt(times) * std::pow(tau2_[row] * tau2_[other], 0.25);
  const double step = std::clamp(1 / (tau + 1e-3), 0.1, 0.4);
  double total = 0, square = 0;
  for (double g = -reach; g < reach + step / 2; g += step) {
    total += std::exp(-g * g / 2);
    square += g * g * std::exp(-g * g / 2);
  }
  const double unit = std::sqrt(total / (square * features));
  Values sums{};
  double key = 0, unlike = 0;
  for (const auto& [x, weight] : of_.points_) {
    const Plane plane = at_length(values, times * x);
    const double one = std::sqrt(x);
    for (double g = -reach; g < reach + step / 2; g += step) {
      const double normal = std::exp(-g * g / 2) / total;
      const double with = cosine * one + sine * g * unit;
      for (const auto& beside : across) {
        const double length = with * with + sine * sine * beside.x * (features - 1) / features;
        const double c = length > 0 ? std::clamp(with / std::sqrt(length), -1.0, 1.0) : 0;
        const double share = weight * normal * beside.weight;
        const Values found = at(plane, times * length, c);
        for (std::size_t q = 0; q < quantities; ++q) sums[q] += share * found[q];
        key += share * one * with * found[1];
        unlike += share * std::max(0.0, c) * unlike_lengths(row, times * x, times * length);
      }
    }
  }
  AveragedPair out{mean, cosine, 0, 0};
  out.overlaps.overlap = sums[0];
  out.overlaps.a_prime = sums[1];
  out.overlaps.square = sums[2];
  if (sums[1] != 0) {
    out.cosine = key / sums[1];
    out.along = sums[3] / sums[1] / features;
  }
  // What the grid says of the mean.
  if (features > 1 && mean.overlap > 0) {
    const Values at_mean = at(at_length(values, times), times, cosine);
    out.omitted = std::fabs(at_mean[0] / mean.overlap - 1);
    if (mean.a_prime != 0)
      out.omitted = std::max(out.omitted, std::fabs(at_mean[1] / mean.a_prime - 1));
  }
  if (sums[0] > 0) out.omitted += unlike / sums[0];
  return out;
}

AveragedPair EqualPairLengths::operator()(const HeadLengths& lengths, double keys, double tau2,
                                          double cosine, double turned,
                                          const SoftmaxOverlaps& mean) {
  // Chebyshev's points over so much more of the lengths tell them as well.
  constexpr double near = 1.1;
  constexpr std::size_t most = 8;
  const auto is_near = [&](const Known& one) {
    const double times = tau2 / one.tau2;
    return one.features == lengths.features() && one.keys == keys && one.turned == turned &&
           times <= near && times >= 1 / near;
  };
  auto at = std::find_if(known_.begin(), known_.end(), is_near);
  if (at == known_.end()) {
    if (known_.size() == most) known_.erase(known_.begin());
    const PairLengths pairs(lengths, {keys}, {tau2}, 1, near);
    known_.push_back({lengths.features(), keys, tau2, turned, pairs, pairs.grid(0, 0, turned)});
    at = known_.end() - 1;
  }
  return at->pairs.average(at->grid, 0, 0, cosine, mean, tau2 / at->tau2);
}

}  // namespace scalecalc::moments
