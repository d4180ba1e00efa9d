#include "moments/key_sizes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "moments/own_word.hpp"

namespace scalecalc::moments {
namespace {

/// Equal steps of the normal number of ln k, out to where its weight is 3e-4.
constexpr int half = 8;
constexpr double step = 0.5;

struct KeySize {
  double size = 1, weight = 0;
};
using KeySizes = std::array<KeySize, 2 * half + 1>;

KeySizes key_sizes(double variance) {
  KeySizes made;
  double total = 0, mean = 0;
  for (int i = -half; i <= half; ++i) {
    KeySize& one = made[static_cast<std::size_t>(i + half)];
    const double z = step * i;
    one = {std::exp(std::sqrt(variance) * z), std::exp(-z * z / 2)};
    total += one.weight;
    mean += one.weight * one.size;
  }
  for (KeySize& one : made) one = {one.size * total / mean, one.weight / total};
  return made;
}

}  // namespace

OverlapOfSizes overlap_of_sizes(double keys, double tau2, double variance) {
  // Below this what sizes do is less than 1e-6 of it.
  constexpr double least = 1e-6;
  if (!(keys > 1 && tau2 > 0 && variance > least) || !std::isfinite(tau2)) return {};
  const KeySizes sizes = key_sizes(variance);
  // E p of a key of a size: a logistic function of its score less L, ln of what the others add up
  // to, which is where weights add up to 1.
  std::array<double, 2 * half + 1> share{};
  const auto total = [&](double level) {
    double sum = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      share[i] = own_share(-level, tau2 * sizes[i].size).mean;
      sum += sizes[i].weight * share[i];
    }
    return keys * sum;
  };
  // The logarithm of the total falls with the level from above 0 to below it. Each step halves what
  // is known of the end that stays (Illinois).
  double low = 0, above = std::log(total(low)), high = std::log(keys), below = 0;
  while ((below = std::log(total(high))) > 0) {
    low = high, above = below;
    high *= 2;
  }
  constexpr int most = 40;
  constexpr double close = 1e-10;
  for (int i = 0, kept = 0; i < most && high - low > close * high; ++i) {
    const double level = low + (high - low) * above / (above - below);
    const double at = std::log(total(level));
    if (std::fabs(at) < close) break;
    if (at > 0) {
      low = level, above = at;
      if (kept == 1) below /= 2;
      kept = 1;
    } else {
      high = level, below = at;
      if (kept == -1) above /= 2;
      kept = -1;
    }
  }
  OverlapOfSizes made{0, 0};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double square = sizes[i].weight * keys * keys * share[i] * share[i];
    made.overlap += square;
    made.mix += square * sizes[i].size;
  }
  // The sum of the others, which L stands for, has the largest of them in both rows.
  made.omitted = (1 - 1 / std::max(1.0, made.mix)) * variance / (1 + variance);
  return made;
}

namespace {

OverlapOfSizes sizes_beyond(const Smallness& small, double cosine, double keys, double tau2) {
  const double excess = std::max(0.0, -2 * missing_sizes(small, cosine));
  return overlap_of_sizes(keys, tau2, small.added * small.added * excess);
}

}  // namespace

double add_key_sizes(const Smallness& small, double cosine, double keys, double tau2,
                     double independent, double overlap, const RowFactors<double>& row,
                     PairFactors<double>& pair, Scores& scores) {
  const OverlapOfSizes sizes = sizes_beyond(small, cosine, keys, tau2);
  const double rows = independent * overlap;
  pair.mix = std::min(pair.mix + rows * (sizes.mix - 1), std::max(pair.mix, row.mix));
  pair.value = std::min(pair.value + rows * (sizes.overlap - 1), std::max(pair.value, row.value));
  scores.overlap_truncation += independent * sizes.omitted;
  return 1 + independent * (sizes.mix - 1);
}

double add_key_sizes(const Smallness& small, double cosine, const RowScores& rows,
                     Factors<PerPosition>& factors, Scores& scores) {
  const Eigen::Index last = rows.tau2.size() - 1;
  const OverlapOfSizes sizes =
      sizes_beyond(small, cosine, rows.keys[static_cast<std::size_t>(last)], rows.tau2[last]);
  if (sizes.mix == 1) return 1;
  const Eigen::ArrayXXd independent = 1 - rows.c.square(), overlap = factors.value.cross;
  factors.mix.cross += independent * overlap * (sizes.mix - 1);
  factors.value.cross += independent * overlap * (sizes.overlap - 1);
  scores.overlap_truncation += independent.mean() * sizes.omitted;
  return 1 + independent.mean() * (sizes.mix - 1);
}

}  // namespace scalecalc::moments
