#include "moments/pair_sheets.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "base/parabola.hpp"
#include "base/workers.hpp"

namespace scalecalc::moments {
namespace {

/// Averages are smooth functions of the variances v, v' and the covariance w = c (v v')^(1/2), on
/// a scale of about 1: a polynomial of degree 2 leaves out about a sixth of the cube of this.
constexpr double kStep = 0.004, kMostReach = 0.3;
/// A box of reach r has correlations up to (c + r)/(1 - r^2)^(1/2): below 1 while r is this much of
/// 1 - c.
constexpr double kInside = 0.85;
constexpr double kMostError = 1e-6;
/// Of derivatives and squares, which multiply orders in 1/d.
constexpr double kMostOther = 1e-4;
/// A sheet costs about as much as a dozen layers without: it has to last for twice as many.
constexpr double kLayers = 24;
constexpr int kWait = 64;
constexpr std::size_t kMostKnown = 8;

using PairValues = std::array<double, 5>;
using Monomials = std::array<double, 10>;

/// Derivatives in the covariance, at a root `s` of both variances.
PairValues values_of(const SoftmaxOverlaps& x, double s) {
  const double unit = s > 0 ? s : 1;
  return {x.overlap, x.a_prime, x.a_second / unit, x.a_third / (unit * unit), x.square};
}

Monomials monomials(double x, double y, double z) {
  return {1, x, y, z, x * x, y * y, z * z, x * y, x * z, y * z};
}

double sum(const Monomials& coefficients, const Monomials& at) {
  double total = 0;
  for (std::size_t k = 0; k < at.size(); ++k) total += coefficients[k] * at[k];
  return total;
}

/// From the values at 0, at +-1 of each coordinate alone, and at 1 of two of them.
struct BoxNodes {
  PairValues centre;
  std::array<PairValues, 3> up, down, both;  ///< both: xy, xz, yz
  Monomials coefficients(std::size_t of) const {
    Monomials made{};
    made[0] = centre[of];
    for (std::size_t k = 0; k < 3; ++k) {
      made[1 + k] = (up[k][of] - down[k][of]) / 2;
      made[4 + k] = (up[k][of] + down[k][of]) / 2 - centre[of];
    }
    constexpr std::array<std::array<std::size_t, 2>, 3> pairs = {{{0, 1}, {0, 2}, {1, 2}}};
    for (std::size_t k = 0; k < 3; ++k) {
      const auto [i, j] = pairs[k];
      made[7 + k] = both[k][of] - up[i][of] - up[j][of] + centre[of];
    }
    return made;
  }
};

/// In units of the reach; no variance stays none.
double place_in_box(double tau2, double centre, double reach) {
  if (centre > 0) return (tau2 / centre - 1) / reach;
  return tau2 == 0 ? 0 : 2;
}

/// Of two rows: the root of both variances, and the covariance.
struct RowPairScores {
  double root, covariance;
  RowPairScores(const RowScores& scores, Eigen::Index t, Eigen::Index u)
      : root(std::sqrt(scores.tau2[t] * scores.tau2[u])), covariance(scores.c(t, u) * root) {}
  double place(const RowPairScores& centre, double reach) const {
    if (centre.root > 0) return (covariance - centre.covariance) / (reach * centre.root);
    return 0;
  }
};

using RowOrders = std::array<double, sizeof(SoftmaxOrders) / sizeof(double)>;

/// x: -1, 0 and 1 at the three.
SoftmaxOrders parabola(const std::array<SoftmaxOrders, 3>& at, double x) {
  const auto values = [&](std::size_t k) { return std::bit_cast<RowOrders>(at[k]); };
  auto out = std::bit_cast<SoftmaxOrders>(base::parabola(values(0), values(1), values(2), x));
  out.error = std::max({at[0].error, at[1].error, at[2].error}) + kMostError * out.p2;
  return out;
}

/// Whether P2 and A are so, and what multiplies orders in 1/d, relative to itself or to P2.
bool are_close(const SoftmaxOrders& found, const SoftmaxOrders& exact) {
  const auto a = std::bit_cast<RowOrders>(found), b = std::bit_cast<RowOrders>(exact);
  for (std::size_t k = 0; k + 1 < a.size(); ++k)  // the last is the error
    if (!(std::fabs(a[k] - b[k]) <= kMostOther * std::max(std::fabs(b[k]), exact.p2))) return false;
  return std::fabs(found.p2 - exact.p2) <= kMostError * exact.p2 &&
         std::fabs(found.a - exact.a) <= kMostError * exact.p2;
}

/// How far these scores are from those of the centre, in units of the reach.
double distance(const RowScores& scores, const RowScores& centre, double reach) {
  double most = 0;
  for (Eigen::Index t = 0; t < scores.tau2.size(); ++t) {
    most = std::max(most, std::fabs(place_in_box(scores.tau2[t], centre.tau2[t], reach)));
    for (Eigen::Index u = 0; u <= t; ++u)
      most = std::max(
          most, std::fabs(RowPairScores(scores, t, u).place(RowPairScores(centre, t, u), reach)));
  }
  return most;
}

/// f(t, u) of all pairs u <= t.
template <class F>
void each_pair(std::size_t rows, const F& f) {
  for (std::size_t t = 0; t < rows; ++t)
    for (std::size_t u = 0; u <= t; ++u)
      f(static_cast<Eigen::Index>(t), static_cast<Eigen::Index>(u));
}

std::size_t pair_of(std::size_t t, std::size_t u) {
  return t * (t + 1) / 2 + u;
}

}  // namespace

RowAverages PairSheets::read(const Sheet& sheet, const RowScores& scores) {
  RowAverages out;
  out.two.reserve(sheet.pairs.size());
  const auto at = [&](Eigen::Index t) {
    return place_in_box(scores.tau2[t], sheet.centre.tau2[t], sheet.reach);
  };
  for (std::size_t t = 0; t < scores.keys.size(); ++t)
    out.one.push_back(parabola(sheet.rows[t], at(static_cast<Eigen::Index>(t))));
  each_pair(scores.keys.size(), [&](Eigen::Index t, Eigen::Index u) {
    const Pair& pair = sheet.pairs[out.two.size()];
    const RowPairScores both(scores, t, u);
    const Monomials x =
        monomials(at(t), at(u), both.place(RowPairScores(sheet.centre, t, u), sheet.reach));
    const auto value = [&](std::size_t of) { return sum(pair.coefficients[of], x); };
    const double s = both.root;
    out.two.push_back({value(0), value(1), s * value(2), s * s * value(3), value(4), pair.error});
  });
  return out;
}

PairSheets::Sheet PairSheets::made(const RowScores& scores, double reach, int threads) {
  Sheet sheet;
  sheet.centre = scores;
  sheet.reach = reach;
  const std::size_t size = scores.keys.size();
  sheet.pairs.resize(pair_of(size, 0));
  // Each row at three variances, and where a parabola is worst.
  std::vector<SoftmaxRows::Row> rows;
  for (std::size_t t = 0; t < size; ++t) {
    const Eigen::Index at = static_cast<Eigen::Index>(t);
    for (const double step : {-reach, 0.0, reach, reach / std::sqrt(3.0)})
      rows.push_back({scores.keys[t], scores.tau2[at] * (1 + step)});
  }
  const SoftmaxRows prepared(rows, threads);
  bool good_rows = true;
  for (std::size_t t = 0; t < size; ++t) {
    sheet.rows.push_back(
        {prepared.orders(4 * t), prepared.orders(4 * t + 1), prepared.orders(4 * t + 2)});
    good_rows &= are_close(parabola(sheet.rows[t], 1 / std::sqrt(3.0)), prepared.orders(4 * t + 3));
  }
  if (!good_rows) return sheet;
  const auto measure = [&](std::size_t t, std::size_t u, Pair& pair) {
    const RowPairScores both(scores, static_cast<Eigen::Index>(t), static_cast<Eigen::Index>(u));
    const auto root = [&](int x, int y) {
      return both.root * std::sqrt((1 + x * reach) * (1 + y * reach));
    };
    const auto exact = [&](int x, int y, int z) {
      const double s = root(x, y), w = both.covariance + z * reach * both.root;
      return prepared.overlaps(4 * t + static_cast<std::size_t>(x + 1),
                               4 * u + static_cast<std::size_t>(y + 1),
                               s > 0 ? std::clamp(w / s, -1.0, 1.0) : 0);
    };
    const auto at = [&](int x, int y, int z) { return values_of(exact(x, y, z), root(x, y)); };
    const BoxNodes nodes{at(0, 0, 0),
                         {at(1, 0, 0), at(0, 1, 0), at(0, 0, 1)},
                         {at(-1, 0, 0), at(0, -1, 0), at(0, 0, -1)},
                         {at(1, 1, 0), at(1, 0, 1), at(0, 1, 1)}};
    for (std::size_t of = 0; of < pair.coefficients.size(); ++of)
      pair.coefficients[of] = nodes.coefficients(of);
    bool good = true;
    for (const int side : {-1, 1}) {
      const SoftmaxOverlaps corner = exact(-1, side, side);
      const PairValues found = values_of(corner, root(-1, side));
      const Monomials x = monomials(-1, side, side);
      const auto off = [&](std::size_t of) {
        return std::fabs(sum(pair.coefficients[of], x) - found[of]);
      };
      pair.error = std::max({pair.error, (off(0) + corner.error * corner.overlap) / corner.overlap,
                             (off(1) + corner.error * corner.overlap) / corner.overlap});
      const double most = kMostOther * std::fabs(corner.a_prime);
      good &= off(2) <= most && off(3) <= most && off(4) <= kMostOther * corner.square;
    }
    return good && pair.error <= kMostError;
  };
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> good = true;
  base::Workers workers;
  workers.run(static_cast<int>(std::min<std::size_t>(std::max(threads, 1), size)), [&] {
    for (std::size_t t = next++; t < size && good && !workers.stopped(); t = next++)
      for (std::size_t u = 0; u <= t; ++u)
        if (!measure(t, u, sheet.pairs[pair_of(t, u)])) good = false;
  });
  sheet.good = good;
  return sheet;
}

PairSheets::Known* PairSheets::find(const RowScores& scores) {
  for (Known& known : known_)
    if (known.last.keys == scores.keys) return &known;
  return nullptr;
}

std::optional<RowAverages> PairSheets::operator()(const RowScores& scores, int threads) {
  const bool is_worth = layers_ - ++asked_ >= kLayers;
  Known* const known = find(scores);
  if (!is_worth && (known == nullptr || !known->sheet)) return std::nullopt;
  if (known == nullptr) {
    if (known_.size() == kMostKnown) known_.erase(known_.begin());
    known_.push_back({scores, {}, 0});
    return std::nullopt;
  }
  const double most = scores.tau2.maxCoeff();
  if (known->sheet && distance(scores, known->sheet->centre, known->sheet->reach) <= 1) {
    known->last = scores;
    return read(*known->sheet, scores);
  }
  // How much of a box it goes in one layer.
  const double reach = std::min(
      {kMostReach, kStep / std::max(most, kStep), kInside * (1 - scores.c.abs().maxCoeff())});
  const double moved = reach > 0 ? distance(scores, known->last, reach) : 1;
  known->last = scores;
  if (known->wait > 0) {
    --known->wait;
    return std::nullopt;
  }
  if (!(moved * kLayers < 1) || !is_worth) return std::nullopt;
  Sheet sheet = made(scores, reach, threads);
  if (!sheet.good) {
    known->wait = kWait;
    return std::nullopt;
  }
  known->sheet = std::move(sheet);
  return read(*known->sheet, scores);
}

}  // namespace scalecalc::moments
