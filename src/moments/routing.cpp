#include "moments/routing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "base/philox.hpp"
#include "base/vector_math.hpp"

namespace scalecalc::moments {
namespace {

/// What one token's scores make of its weights: J_fe = D_f (f = e) - w_f q_e.
struct Row {
  std::vector<double> w, D, q, back;  ///< back: J^T w
  std::vector<double> across;         ///< q + back/sum w^2: of J less its part along w
  double square = 0;                  ///< sum w^2
  std::vector<std::size_t> chosen;    ///< top_k experts, the largest score first

  Row(std::size_t experts, std::int64_t top_k)
      : w(experts),
        D(experts),
        q(experts),
        back(experts),
        across(experts),
        chosen(static_cast<std::size_t>(top_k)) {}
};

/// The experts of the largest scores, by insertion: few of many are chosen.
void choose(const std::vector<double>& z, std::vector<std::size_t>& chosen) {
  std::size_t count = 0;
  for (std::size_t e = 0; e < z.size(); ++e) {
    if (count == chosen.size() && !(z[e] > z[chosen[count - 1]])) continue;
    if (count < chosen.size()) ++count;
    std::size_t at = count - 1;
    for (; at > 0 && z[e] > z[chosen[at - 1]]; --at) chosen[at] = chosen[at - 1];
    chosen[at] = e;
  }
}

/// q = e^z and its sum.
double exponentials(const std::vector<double>& z, std::vector<double>& q) {
  namespace vm = base::vector_math;
  double total = 0;
  for (std::size_t e = 0; e < z.size(); e += vm::lanes) {
    const std::size_t count = std::min(vm::lanes, z.size() - e);
    std::array<double, vm::lanes> some{};
    std::copy_n(z.begin() + static_cast<std::ptrdiff_t>(e), count, some.begin());
    vm::store(vm::exp(vm::load(some.data())), some.data());
    std::copy_n(some.begin(), count, q.begin() + static_cast<std::ptrdiff_t>(e));
    for (std::size_t k = 0; k < count; ++k) total += some[k];
  }
  return total;
}

void weigh_row(const Experts& layer, const std::vector<double>& z, Row& row) {
  choose(z, row.chosen);
  std::fill(row.w.begin(), row.w.end(), 0.0);
  std::fill(row.D.begin(), row.D.end(), 0.0);
  std::fill(row.q.begin(), row.q.end(), 0.0);
  const bool softmax = layer.score == Experts::Score::softmax;
  const auto each_chosen = [&](const auto& use) {
    for (const std::size_t e : row.chosen) use(e);
  };
  double total = 0;
  each_chosen([&](std::size_t e) {
    row.w[e] = softmax ? std::exp(z[e]) : 1 / (1 + std::exp(-z[e]));
    row.D[e] = softmax ? row.w[e] : row.w[e] * (1 - row.w[e]);
    total += row.w[e];
  });
  if (!layer.normalised) {
    total = 1;
    if (softmax) {
      total = exponentials(z, row.q);
      for (double& q : row.q) q /= total;
    }
  }
  row.square = 0;
  each_chosen([&](std::size_t e) {
    row.w[e] /= total;
    row.D[e] /= total;
    if (layer.normalised) row.q[e] = row.D[e];
    row.square += row.w[e] * row.w[e];
  });
  for (std::size_t e = 0; e < z.size(); ++e) {
    row.back[e] = row.D[e] * row.w[e] - row.square * row.q[e];
    row.across[e] = row.q[e] + row.back[e] / row.square;
  }
}

/// sum_fe J_fe(t) J_fe(u) of J_fe = D_f (f = e) - w_f q_e; `ww`: of the weights.
double slopes_of(const Row& t, const std::vector<double>& tq, const Row& u,
                 const std::vector<double>& uq, double ww) {
  double dd = 0, left = 0, right = 0, qq = 0;
  for (const std::size_t e : t.chosen) {  // w and D of all others are 0
    dd += t.D[e] * u.D[e];
    left += t.D[e] * u.w[e] * uq[e];
    right += u.D[e] * t.w[e] * tq[e];
  }
  for (std::size_t e = 0; e < t.w.size(); ++e) qq += tq[e] * uq[e];
  return dd - left - right + ww * qq;
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
  for (std::size_t e = 0; e < t.w.size(); ++e) pair.along += t.back[e] * u.back[e];
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

Routing::Routing(const Experts& layer, double variance)
    : experts_(static_cast<std::int64_t>(layer.experts.size())),
      top_k_(layer.top_k),
      score_(layer.score),
      normalised_(layer.normalised),
      variance_(variance),
      of_angle_{} {
  const auto size = static_cast<std::size_t>(experts_);
  const double deviation = std::sqrt(variance);
  std::vector<double> a(size), b(size), z(size);
  Row first(size, top_k_), second(size, top_k_);
  std::array<double, kAngles + 1> cosine, sine;
  for (int k = 0; k <= kAngles; ++k) {
    const auto at = static_cast<std::size_t>(k);
    cosine[at] = std::cos(k * std::numbers::pi / kAngles);
    sine[at] = std::sin(k * std::numbers::pi / kAngles);
  }
  double weight = 0, square = 0;  // E sum_e w_e and E sum_e w_e^2
  const auto use = [&](double each) {
    for (std::size_t e = 0; e < size; ++e) z[e] = deviation * a[e];
    weigh_row(layer, z, first);
    for (const double w : first.w) weight += each * w;
    square += each * first.square;
    for (std::size_t k = 0; k <= kAngles; ++k) {
      for (std::size_t e = 0; e < size; ++e) z[e] = deviation * (cosine[k] * a[e] + sine[k] * b[e]);
      weigh_row(layer, z, second);
      add(of_angle_[k], pair_of(first, second), each);
    }
  };
  double of_draws = 0;  // what one weighs in an error that falls as the root of their number
  const auto grid = size == 1 ? normal_grid(deviation) : std::nullopt;
  if (grid) {
    for (const auto& [x, of_x] : *grid)
      for (const auto& [y, of_y] : *grid) {
        a[0] = x;
        b[0] = y;
        use(of_x * of_y);
      }
  } else {
    constexpr std::int64_t values = std::int64_t{1} << 18, least = 4096;
    const std::int64_t count = std::max(least, values / experts_);
    of_draws = 1.0 / static_cast<double>(count);
    std::uint64_t block = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      draw(a, block);
      draw(b, block);
      use(of_draws);
    }
  }
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

const Routing& Routings::operator()(const Experts& layer, double variance) {
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
      sheet.nodes.push_back({Routing(layer, centre * std::exp(-kSpread)), sheet.middle,
                             Routing(layer, centre * std::exp(kSpread))});
    return made_.emplace_back(sheet.nodes.front(), variance, kSpread);
  }
  return sheets_.emplace_back(Sheet{Routing(layer, variance), {}}).middle;
}

}  // namespace scalecalc::moments
