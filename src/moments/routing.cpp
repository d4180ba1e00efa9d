#include "moments/routing.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/philox.hpp"
#include "base/vector_math.hpp"
#include "base/workers.hpp"
#include "gaussian/lane_sum.hpp"

namespace scalecalc::moments {
namespace {

namespace vm = base::vector_math;

/// As many as whole vectors of lanes have room for.
std::size_t padded(std::size_t experts) {
  return (experts + vm::lanes - 1) / vm::lanes * vm::lanes;
}

/// What one token's scores make of its weights: J_fe = D_f (f = e) - w_f q_e. By expert, to whole
/// vectors, which end in zeros.
struct Row {
  std::vector<double> w, D, q, back;  ///< back: J^T w
  std::vector<double> across;         ///< q + back/sum w^2: of J less its part along w
  double square = 0;                  ///< sum w^2
  std::vector<std::size_t> chosen;    ///< top_k experts, the largest score first
  /// Weights are shares of a softmax over all experts; else all is 0 but at those chosen.
  bool over_all;

  explicit Row(const Experts& layer)
      : w(padded(layer.experts.size())),
        D(w.size()),
        q(w.size()),
        back(w.size()),
        across(w.size()),
        chosen(static_cast<std::size_t>(layer.top_k)),
        over_all(!layer.normalised && layer.score == Experts::Score::softmax) {}

  void clear() {
    for (const std::size_t e : chosen) w[e] = D[e] = q[e] = back[e] = across[e] = 0;
  }
  /// sum_e of a and b of two rows, where this row is not 0.
  double dot(const std::vector<double>& a, const std::vector<double>& b) const {
    if (!over_all) {
      double sum = 0;
      for (const std::size_t e : chosen) sum += a[e] * b[e];
      return sum;
    }
    vm::Real sum{};
    for (std::size_t e = 0; e < a.size(); e += vm::lanes) sum += vm::load(&a[e]) * vm::load(&b[e]);
    return lane_sum(sum);
  }
};

/// The experts of the largest scores, by insertion: few of many are chosen. `z` ends in -infinity.
void choose(const std::vector<double>& z, std::vector<std::size_t>& chosen) {
  std::size_t count = 0;
  for (std::size_t from = 0; from < z.size(); from += vm::lanes) {
    if (count == chosen.size()) {
      const double least = z[chosen[count - 1]];
      bool any = false;
      for (std::size_t k = 0; k < vm::lanes; ++k) any |= z[from + k] > least;
      if (!any) continue;
    }
    for (std::size_t e = from; e < from + vm::lanes; ++e) {
      if (count == chosen.size() && !(z[e] > z[chosen[count - 1]])) continue;
      if (count < chosen.size()) ++count;
      std::size_t at = count - 1;
      for (; at > 0 && z[e] > z[chosen[at - 1]]; --at) chosen[at] = chosen[at - 1];
      chosen[at] = e;
    }
  }
}

/// q = e^z of so many experts, and its sum.
double exponentials(const std::vector<double>& z, std::size_t experts, std::vector<double>& q) {
  for (std::size_t e = 0; e < z.size(); e += vm::lanes) vm::store(vm::exp(vm::load(&z[e])), &q[e]);
  std::fill(q.begin() + static_cast<std::ptrdiff_t>(experts), q.end(), 0.0);
  vm::Real total{};
  for (std::size_t e = 0; e < q.size(); e += vm::lanes) total += vm::load(&q[e]);
  return lane_sum(total);
}

/// `z` of each expert, then -infinity.
void weigh_row(const Experts& layer, const std::vector<double>& z, Row& row) {
  row.clear();
  choose(z, row.chosen);
  const bool softmax = layer.score == Experts::Score::softmax;
  double total = 0;
  for (const std::size_t e : row.chosen) {
    row.w[e] = softmax ? std::exp(z[e]) : 1 / (1 + std::exp(-z[e]));
    row.D[e] = softmax ? row.w[e] : row.w[e] * (1 - row.w[e]);
    total += row.w[e];
  }
  if (!layer.normalised) total = 1;
  if (row.over_all) {
    total = exponentials(z, layer.experts.size(), row.q);
    for (double& q : row.q) q /= total;
  }
  row.square = 0;
  for (const std::size_t e : row.chosen) {
    row.w[e] /= total;
    row.D[e] /= total;
    if (layer.normalised) row.q[e] = row.D[e];
    row.square += row.w[e] * row.w[e];
  }
  const auto finish = [&](const auto& D, const auto& w, const auto& q, auto& back, auto& across) {
    back = D * w - row.square * q;
    across = q + back / row.square;
  };
  if (!row.over_all) {
    for (const std::size_t e : row.chosen)
      finish(row.D[e], row.w[e], row.q[e], row.back[e], row.across[e]);
    return;
  }
  for (std::size_t e = 0; e < row.w.size(); e += vm::lanes) {
    vm::Real back, across;
    finish(vm::load(&row.D[e]), vm::load(&row.w[e]), vm::load(&row.q[e]), back, across);
    vm::store(back, &row.back[e]);
    vm::store(across, &row.across[e]);
  }
}

/// sum_fe J_fe(t) J_fe(u) of J_fe = D_f (f = e) - w_f q_e; `ww`: of the weights.
double slopes_of(const Row& t, const std::vector<double>& tq, const Row& u,
                 const std::vector<double>& uq, double ww) {
  double dd = 0, left = 0, right = 0;
  for (const std::size_t e : t.chosen) {  // w and D of all others are 0
    dd += t.D[e] * u.D[e];
    left += t.D[e] * u.w[e] * uq[e];
    right += u.D[e] * t.w[e] * tq[e];
  }
  return dd - left - right + ww * t.dot(tq, uq);
}

void add(RoutedGradient& sum, const RoutedGradient& one, double times) {
  sum.weights += times * one.weights;
  sum.slopes += times * one.slopes;
  sum.across += times * one.across;
  sum.own += times * one.own;
}

/// One draw of a pair.
RoutedPair pair_of(const Row& t, const Row& u) {
  double ww = 0;
  RoutedPair pair;
  for (const std::size_t e : t.chosen) {
    const double both = t.w[e] * u.w[e];
    ww += both;
    pair.loads += both * both;
  }
  pair.along = t.dot(t.back, u.back);
  pair.inverse = 1 / std::sqrt(t.square * u.square);
  pair.plain = {ww, slopes_of(t, t.q, u, u.q, ww), slopes_of(t, t.across, u, u.across, ww),
                pair.loads * pair.inverse};
  add(pair.divided, pair.plain, pair.inverse);
  pair.scatter = ww * ww;
  pair.sizes = t.square * u.square;
  return pair;
}

void add(RoutedPair& sum, const RoutedPair& one, double times) {
  add(sum.plain, one.plain, times);
  add(sum.divided, one.divided, times);
  sum.inverse += times * one.inverse;
  sum.scatter += times * one.scatter;
  sum.sizes += times * one.sizes;
  sum.loads += times * one.loads;
  sum.along += times * one.along;
  sum.error += times * one.error;
}

/// Standard normal values by Box and Muller.
void draw(std::vector<double>& values, std::uint64_t& block) {
  constexpr base::Stream stream{0x5ca1eca1c, 0x70b5};
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const base::Philox4 words = base::philox_block(stream, block++);
    const double radius =
        std::sqrt(-2 * std::log(base::uniform_from_words(words.v[0], words.v[1])));
    const double angle = 2 * std::numbers::pi * base::uniform_from_words(words.v[2], words.v[3]);
    values[i] = radius * std::cos(angle);
    if (i + 1 < values.size()) values[i + 1] = radius * std::sin(angle);
  }
}

/// Points of a standard normal number and their weights, for functions of the logistic of
/// `deviation` times it: the trapezoid rule leaves e^(-2 pi^2/(h deviation)), here 3e-16, times
/// what the normal weight is at the poles, pi/deviation from the line. None where that takes more
/// points than draws.
std::optional<std::vector<std::pair<double, double>>> normal_grid(double deviation) {
  constexpr double far = 7;
  const double step = std::min(0.5, 0.55 / std::max(deviation, 1e-300));
  const auto count = static_cast<int>(std::ceil(std::min(far / step, 1e6)));
  if (count > 200) return std::nullopt;
  std::vector<std::pair<double, double>> made;
  double total = 0;
  for (int k = -count; k <= count; ++k) {
    const double x = step * k;
    made.emplace_back(x, std::exp(-x * x / 2));
    total += made.back().second;
  }
  for (auto& [x, weight] : made) weight /= total;
  return made;
}

}  // namespace

namespace {

/// Sums over pairs of draws a and b of a router's scores, the second token's at each angle.
template <std::size_t Angles>
class RoutingSums {
 public:
  std::array<RoutedPair, Angles> of_angle{};
  double weight = 0, square = 0;  ///< E sum_e w_e and E sum_e w_e^2

  RoutingSums(const Experts& layer, double deviation)
      : layer_(&layer),
        deviation_(deviation),
        experts_(layer.experts.size()),
        z_(padded(experts_), -std::numeric_limits<double>::infinity()),
        first_(layer),
        second_(layer) {
    for (std::size_t k = 0; k < Angles; ++k) {
      const double angle = static_cast<double>(k) * std::numbers::pi / (Angles - 1);
      along_[k] = deviation * std::cos(angle);
      across_[k] = deviation * std::sin(angle);
    }
  }
  void use(const std::vector<double>& a, const std::vector<double>& b, double each) {
    for (std::size_t e = 0; e < experts_; ++e) z_[e] = deviation_ * a[e];
    weigh_row(*layer_, z_, first_);
    for (const std::size_t e : first_.chosen) weight += each * first_.w[e];
    square += each * first_.square;
    for (std::size_t k = 0; k < Angles; ++k) {
      for (std::size_t e = 0; e < experts_; ++e) z_[e] = along_[k] * a[e] + across_[k] * b[e];
      weigh_row(*layer_, z_, second_);
      add(of_angle[k], pair_of(first_, second_), each);
    }
  }
  void add_up(const RoutingSums& other) {
    for (std::size_t k = 0; k < Angles; ++k) add(of_angle[k], other.of_angle[k], 1);
    weight += other.weight;
    square += other.square;
  }

 private:
  const Experts* layer_;
  double deviation_;
  std::array<double, Angles> along_, across_;  ///< of both draws in a score, by angle
  std::size_t experts_;
  std::vector<double> z_;  ///< scores of a token, then -infinity
  Row first_, second_;
};

/// Draws are dealt in so many parts, whatever the number of threads: sums are the same bits.
constexpr std::int64_t kParts = 32;

/// The sums over `count` draws.
template <class Sums>
Sums over_draws(const Experts& layer, double deviation, std::int64_t count, int threads) {
  std::vector<Sums> parts(kParts, Sums(layer, deviation));
  const std::size_t size = layer.experts.size();
  const std::uint64_t blocks = 2 * ((size + 1) / 2);  // of one draw
  std::atomic<std::int64_t> next = 0;
  base::Workers workers;
  workers.run(static_cast<int>(std::clamp<std::int64_t>(threads, 1, kParts)), [&] {
    std::vector<double> a(size), b(size);
    for (std::int64_t part = next++; part < kParts && !workers.stopped(); part = next++) {
      const std::int64_t from = count * part / kParts, to = count * (part + 1) / kParts;
      std::uint64_t block = blocks * static_cast<std::uint64_t>(from);
      for (std::int64_t i = from; i < to; ++i) {
        draw(a, block);
        draw(b, block);
        parts[static_cast<std::size_t>(part)].use(a, b, 1.0 / static_cast<double>(count));
      }
    }
  });
  for (std::size_t k = 1; k < parts.size(); ++k) parts.front().add_up(parts[k]);
  return std::move(parts.front());
}

}  // namespace

Routing::Routing(const Experts& layer, double variance, int threads)
    : experts_(static_cast<std::int64_t>(layer.experts.size())),
      top_k_(layer.top_k),
      score_(layer.score),
      normalised_(layer.normalised),
      variance_(variance) {
  using Sums = RoutingSums<kAngles + 1>;
  const double deviation = std::sqrt(variance);
  Sums sums(layer, deviation);
  double of_draws = 0;  // what one weighs in an error that falls as the root of their number
  const auto grid = experts_ == 1 ? normal_grid(deviation) : std::nullopt;
  if (grid) {
    for (const auto& [x, of_x] : *grid)
      for (const auto& [y, of_y] : *grid) sums.use({x}, {y}, of_x * of_y);
  } else {
    constexpr std::int64_t values = std::int64_t{1} << 18, least = 4096;
    const std::int64_t count = std::max(least, values / experts_);
    of_draws = 1.0 / static_cast<double>(count);
    sums = over_draws<Sums>(layer, deviation, count, threads);
  }
  of_angle_ = sums.of_angle;
  const double weight = sums.weight, square = sums.square;
  const double apart = weight * weight / static_cast<double>(experts_);
  const double off = of_angle_[kAngles / 2].plain.weights - apart;
  for (int k = 0; k <= kAngles; ++k) {
    RoutedPair& at = of_angle_[static_cast<std::size_t>(k)];
    at.scatter = std::max(0.0, at.scatter - at.plain.weights * at.plain.weights);
    at.sizes = std::max(0.0, at.sizes - square * square);
    at.error = std::sqrt(at.scatter * of_draws);
    const double across = std::sin(k * std::numbers::pi / kAngles);
    at.plain.weights -= across * across * off;
  }
}

RoutedPair Routing::at(double correlation) const {
  const double place = std::acos(std::clamp(correlation, -1.0, 1.0)) * kAngles / std::numbers::pi;
  const int first = std::clamp(static_cast<int>(place) - 1, 0, kAngles - 3);
  RoutedPair made;
  for (int i = 0; i < 4; ++i) {
    double times = 1;
    for (int j = 0; j < 4; ++j)
      if (j != i) times *= (place - first - j) / (i - j);
    add(made, of_angle_[static_cast<std::size_t>(first + i)], times);
  }
  made.error = std::max(0.0, made.error);
  made.scatter = std::max(0.0, made.scatter);
  made.sizes = std::max(0.0, made.sizes);
  return made;
}

double Routing::rise(double correlation) const {
  const double angle = std::acos(std::clamp(correlation, -1.0, 1.0));
  const double step = std::numbers::pi / kAngles;
  const double low = std::cos(std::min(std::numbers::pi, angle + step)),
               high = std::cos(std::max(0.0, angle - step));
  return (at(high).plain.weights - at(low).plain.weights) / (high - low);
}

Routing::Routing(const std::array<Routing, 3>& nodes, double variance, double spread)
    : Routing(nodes[1]) {
  const double x = std::log(variance / variance_) / spread;
  variance_ = variance;
  for (std::size_t k = 0; k < of_angle_.size(); ++k) {
    RoutedPair between;
    add(between, nodes[0].of_angle_[k], x * (x - 1) / 2);
    add(between, nodes[1].of_angle_[k], 1 - x * x);
    add(between, nodes[2].of_angle_[k], x * (x + 1) / 2);
    of_angle_[k] = between;
  }
}

bool Routing::is_of(const Experts& layer) const {
  return experts_ == static_cast<std::int64_t>(layer.experts.size()) && top_k_ == layer.top_k &&
         score_ == layer.score && normalised_ == layer.normalised;
}

const Routing& Routings::operator()(const Experts& layer, double variance, int threads) {
  constexpr double same = 1e-6;
  const auto is_at = [&](const Routing& one) {
    return one.is_of(layer) && std::fabs(one.variance() - variance) <= same * variance;
  };
  for (const Routing& one : made_)
    if (is_at(one)) return one;
  for (Sheet& sheet : sheets_) {
    if (is_at(sheet.middle)) return sheet.middle;
    const double centre = sheet.middle.variance();
    if (!sheet.middle.is_of(layer) || !(centre > 0) || !(variance > 0) ||
        std::fabs(std::log(variance / centre)) > kSpread)
      continue;
    if (sheet.nodes.empty())
      sheet.nodes.push_back({Routing(layer, centre * std::exp(-kSpread), threads), sheet.middle,
                             Routing(layer, centre * std::exp(kSpread), threads)});
    return made_.emplace_back(sheet.nodes.front(), variance, kSpread);
  }
  return sheets_.emplace_back(Sheet{Routing(layer, variance, threads), {}}).middle;
}

}  // namespace scalecalc::moments
