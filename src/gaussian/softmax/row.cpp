#include "gaussian/softmax/row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "gaussian/softmax/gauss_hermite.hpp"

namespace scalecalc::gaussian::softmax {
namespace {

namespace vm = base::vector_math;
using vm::Real;

/// Scores whose terms are added up at once.
constexpr std::size_t kScoresTogether = 8;
/// Of the lattice; more take new memory.
constexpr std::size_t kUsualBlocks = 8;
/// Of w, and of where the lattice bends: see Row.
constexpr double kStep = 0.38, kBend = 0.5;
/// Averages at a point are off by a wave of the step in z times tau, which sums over narrow steps
/// take out and sums over steps that are as wide do not: with those, z is this much finer.
constexpr double kWithWider = 1.3;
/// Integrands this far below the largest are left out.
constexpr double kNegligible = 1e-9;
/// In front of the lattice, where the tail is long.
constexpr double kNegligibleFront = 1e-13;
/// Beyond, e^{-t} is 0 while t^8 is still a number.
constexpr double kLargest = 1000.0;
/// Of t: over 1e6 keys what is below adds 1e-12 of a row.
constexpr double kNothing = 1e-18;

/// Gauss's rule for z converges as e^{-pi sqrt(2 n)/tau}, the bumps g_k(y + tau z) being analytic
/// up to Im z = pi/(2 tau), and has to be exact for the polynomials of the series: so many nodes.
int gauss_nodes(double tau, int terms, double finer) {
  return static_cast<int>(std::ceil(finer * (8.0 + terms / 2.0 + 28.0 * tau * tau)));
}

/// Where the Gaussian is cut: E sum p^4 over 1e6 keys still feels 9 sigma.
double reach_of(double keys) {
  return std::min(12.0, 8.5 + 0.25 * std::log(keys));
}

/// Where sum_s e^s over T keys is about e^{-y}: its mean, or its largest term when that rules.
double centre(double keys, double tau) {
  const double width = std::sqrt(2.0 * std::log(keys));
  return tau < width ? -0.5 * (width * width + tau * tau) : -tau * width;
}

/// Below this tau, E[He_n(z) f(y + tau z)] = tau^n D^n E f is below the rounding of the sum that it
/// is found by, and D^n is applied to the bumps instead.
constexpr double kSmallTau = 0.25;
constexpr std::size_t kExact = 4;  ///< such n

}  // namespace

int series_terms(double tau, double correlation, double of) {
  const double digits = of * std::numbers::ln10;
  const double a = -std::log(std::clamp(std::abs(correlation), 1e-12, 1.0));
  const double b = std::numbers::pi / std::max(tau, 1e-6);
  const double root = 2.0 * digits / (b + std::sqrt(b * b + 4.0 * a * digits));
  return static_cast<int>(std::min(root * root, 1e6)) + static_cast<int>(kExact);
}

double gegenbauer_step(double dimensions, int k) {
  const double n = dimensions;
  if (k == 1) return 1.0 / std::sqrt(n);
  return std::sqrt(k * (k + n - 3.0) / ((2.0 * k + n - 2.0) * (2.0 * k + n - 4.0)));
}

/// Points z with the weights of N(0, 1) and, for n >= 1, of the normalised Hermite polynomials: the
/// nodes of Gauss's rule where few are enough, else z = m step, whose step resolves the bumps, of
/// width 1/tau, and the waves of the highest polynomial, of frequency sqrt(n).
struct Row::Scores {
  std::vector<double> weight, factor;  ///< factor = e^{tau z}
  std::vector<double> hermite;         ///< by z, then by n; weight included
  struct Moments {
    double z, second, fourth;  ///< the weight times He_1, He_2 and He_4
  };
  std::vector<Moments> moments;
  /// Sums from each z on, to the last: of the weights, of `hermite` and of the moments.
  std::vector<double> weight_from, hermite_from;
  std::vector<Moments> moments_from;
  int terms = 0;
  bool is_gaussian = true;

  Scores(double keys, double tau, int terms_asked, double finer) : terms(terms_asked) {
    roots.resize(static_cast<std::size_t>(terms) + 1);
    for (std::size_t n = 0; n < roots.size(); ++n) roots[n] = std::sqrt(static_cast<double>(n));
    const int nodes = gauss_nodes(tau, terms, finer);
    if (nodes <= kMostNodes) {
      const GaussHermite& rule = gauss_hermite(nodes);
      reserve(rule.z.size());
      for (std::size_t m = 0; m < rule.z.size(); ++m) add(rule.z[m], rule.weight[m], tau);
    } else {
      const double frequency = std::sqrt(static_cast<double>(terms)) + 6.5 + 10.0 * tau;
      const double step = std::min(0.5, 2.0 * std::numbers::pi / frequency) / finer;
      const int reach = static_cast<int>(std::ceil(reach_of(keys) / step));
      const double density = step / std::sqrt(2.0 * std::numbers::pi);
      reserve(static_cast<std::size_t>(2 * reach + 1));
      for (int m = -reach; m <= reach; ++m) {
        const double z = m * step;
        add(z, density * std::exp(-0.5 * z * z), tau);
      }
    }
    add_up();
  }

  struct OnSphere {
    double dimensions;
  };
  /// x = tanh v, v = (pi/2) sinh t, of density (1 - x^2)^((n-3)/2) dx, by equal steps of t, which
  /// what is singular at the ends of x does not hold up. Steps resolve the bumps, of width
  /// 1/(tau sqrt(n)) in x, and the waves of the highest polynomial.
  Scores(OnSphere sphere, double tau, int terms_asked) : terms(terms_asked), is_gaussian(false) {
    const double n = sphere.dimensions, root = std::sqrt(n);
    std::vector<std::array<double, 2>> points;  // x and its weight
    if (n == 1.0) {
      terms = 1;
      points = {{-1.0, 0.5}, {1.0, 0.5}};
    } else {
      const double frequency = 2.0 * terms + 3.0 * root + 10.0 * tau * root + 10.0;
      const double step = 4.0 / frequency;
      double total = 0.0;
      // sech^(n-1) falls below e^-45 of its largest.
      const double last =
          std::asinh((45.0 / (n - 1.0) + std::numbers::ln2) * 2.0 / std::numbers::pi);
      const int reach = static_cast<int>(std::ceil(last / step));
      for (int m = -reach; m <= reach; ++m) {
        const double t = m * step, v = 0.5 * std::numbers::pi * std::sinh(t);
        // ln cosh without overflow.
        const double log_cosh =
            std::abs(v) + std::log1p(std::exp(-2.0 * std::abs(v))) - std::numbers::ln2;
        const double density = std::exp(-(n - 1.0) * log_cosh) * std::cosh(t);
        if (density < 1e-20) continue;
        points.push_back({std::tanh(v), density});
        total += density;
      }
      for (auto& point : points) point[1] /= total;
    }
    for (const auto& [x, density] : points) {
      weight.push_back(density);
      factor.push_back(std::exp(tau * root * x));
      moments.push_back({density * root * x, density * n * x * x, 0.0});
      double last = 0.0, value = density, below = 0.0;
      hermite.push_back(value);
      for (int k = 0; k < terms; ++k) {
        const double above = gegenbauer_step(n, k + 1);
        const double next = (x * value - below * last) / above;
        last = value;
        value = next;
        below = above;
        hermite.push_back(value);
      }
    }
    add_up();
  }

 private:
  std::vector<double> roots;  ///< of n, for He_n/sqrt(n!)

  void reserve(std::size_t points) {
    weight.reserve(points);
    factor.reserve(points);
    moments.reserve(points);
    hermite.reserve(points * roots.size());
  }
  void add(double z, double of_z, double tau) {
    weight.push_back(of_z);
    factor.push_back(std::exp(tau * z));
    const double zz = z * z;
    moments.push_back({of_z * z, of_z * (zz - 1.0), of_z * (zz * (zz - 6.0) + 3.0)});
    double last = 0.0, value = of_z;
    hermite.push_back(value);
    for (std::size_t n = 0; n + 1 < roots.size(); ++n) {
      const double next = (z * value - roots[n] * last) / roots[n + 1];
      last = value;
      value = next;
      hermite.push_back(value);
    }
  }
  void add_up() {
    const std::size_t count = static_cast<std::size_t>(terms) + 1;
    weight_from.assign(weight.size() + 1, 0.0);
    moments_from.assign(weight.size() + 1, {});
    hermite_from.assign(hermite.size() + count, 0.0);
    for (std::size_t m = weight.size(); m-- > 0;) {
      const Moments &here = moments[m], &rest = moments_from[m + 1];
      weight_from[m] = weight_from[m + 1] + weight[m];
      moments_from[m] = {rest.z + here.z, rest.second + here.second, rest.fourth + here.fourth};
    }
    for (std::size_t k = hermite.size(); k-- > 0;)
      hermite_from[k] = hermite_from[k + count] + hermite[k];
  }
};

Row::Row(double keys, double tau2, int terms, double finer, double wider)
    : Row(keys, tau2, Scores(keys, std::sqrt(tau2), terms, finer * std::min(wider, kWithWider)),
          wider * kStep / finer) {}

Row Row::on_sphere(double keys, double tau2, int terms, double dimensions) {
  return {keys, tau2, Scores(Scores::OnSphere{dimensions}, std::sqrt(tau2), terms), kStep};
}

Row::Row(double keys, double tau2, const Scores& scores, double step)
    : keys_(keys), tau_(std::sqrt(tau2)), terms_(scores.terms), is_gaussian_(scores.is_gaussian) {
  const double bend = kBend + std::min(tau2, 6.0 * tau_);
  const double y0 = centre(keys, tau_);
  std::array<double, 2> largest{};
  blocks_.reserve(kUsualBlocks);
  if (terms_ > 0)
    for (std::vector<double>& h : h_) h.reserve(at(kUsualBlocks, 0));
  for (int j = static_cast<int>(std::floor((-3.2 - bend) / step));; j += kLanes) {
    Real w;
    for (std::size_t k = 0; k < kLanes; ++k) w[k] = step * (j + static_cast<int>(k));
    const Real stretch = vm::exp(-(w + bend));
    Block block{};
    block.weight = step * (1.0 + stretch);
    average(scores, y0 + w - stretch, block);
    blocks_.push_back(block);
    const bool is_over = vanished(block, largest);
    if (w[kLanes - 1] > 0.0 && is_over) break;
  }
  leave_out_start(largest);
}

/// Blocks in front whose integrands are as negligible as those behind.
void Row::leave_out_start(const std::array<double, 2>& largest) {
  std::size_t out = 0;
  const auto matters = [&](const Block& block) {
    const std::array<Real, 2> values = integrands(block);
    for (std::size_t k = 0; k < values.size(); ++k)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        if (values[k][lane] > kNegligibleFront * largest[k]) return true;
    return false;
  };
  while (out < blocks_.size() && !matters(blocks_[out])) ++out;
  if (out == 0 || out == blocks_.size()) return;
  const auto from = static_cast<std::ptrdiff_t>(out);
  if (terms_ > 0)
    for (std::vector<double>& h : h_)
      h.erase(h.begin(), h.begin() + static_cast<std::ptrdiff_t>(at(out, 0)));
  blocks_.erase(blocks_.begin(), blocks_.begin() + from);
  points_ -= std::min(points_, out * kLanes);
}

/// Integrands of all correlations, and of their derivatives, lie between these two.
std::array<Real, 2> Row::integrands(const Block& block) const {
  const Real others = block.weight * vm::exp((keys_ - 1.0) * block.log_f);
  return {others * block.g[1], others * block.g[kAverages - 1]};
}

bool Row::vanished(const Block& block, std::array<double, 2>& largest) {
  const std::array<Real, 2> values = integrands(block);
  bool all = true;
  for (std::size_t k = 0; k < largest.size(); ++k) {
    const Real& value = values[k];
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      largest[k] = std::max(largest[k], value[lane]);
    all &= value[kLanes - 1] <= kNegligible * largest[k];
    const std::size_t before = (blocks_.size() - 1) * kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      if (value[lane] > kNegligible * largest[k]) points_ = std::max(points_, before + lane + 1);
  }
  return all;
}

/// The terms of `points` scores one after another: many terms are read and written once for these.
template <std::size_t points>
void Row::add_terms(const double* hermite, const Bumps* bumps, std::size_t from) {
  const std::size_t count = static_cast<std::size_t>(terms_) + 1;
  for (std::size_t k = 0; k < kBumps; ++k) {
    double* h = &h_[k][from];
    for (std::size_t n = 0; n < count; ++n, h += kLanes) {
      Real sum = vm::load(h);
      for (std::size_t m = 0; m < points; ++m) sum += hermite[m * count + n] * bumps[m][k];
      vm::store(sum, h);
    }
  }
}

void Row::average(const Scores& scores, const Real& y, Block& block) {
  const std::size_t count = static_cast<std::size_t>(terms_) + 1;
  const std::size_t from = at(blocks_.size(), 0);
  if (terms_ > 0) {
    for (std::vector<double>& h : h_) h.resize(from + count * kLanes, 0.0);
  }
  const Real base = vm::exp(y);
  // Both y and z rise: in front of the first every t is nothing, and from the last on e^{-t} is.
  const auto place = [&](double t, double of) {
    return static_cast<std::size_t>(
        std::lower_bound(scores.factor.begin(), scores.factor.end(), t / of) -
        scores.factor.begin());
  };
  const std::size_t first = place(kNothing, base[kLanes - 1]), last = place(kLargest, base[0]);
  std::array<Bumps, kScoresTogether> some;
  std::size_t kept = 0;
  for (std::size_t m = first; m < last; ++m) {
    const double weight = scores.weight[m];
    const Scores::Moments& z = scores.moments[m];
    const Real t = vm::clamp(base * scores.factor[m], 0.0, kLargest);
    const Real below = vm::expm1(-t);
    block.fall -= weight * below;
    std::array<Real, kAverages> bumps = {below, t * (below + 1.0)};
    for (std::size_t k = 2; k < kAverages; ++k) bumps[k] = t * bumps[k - 1];
    for (std::size_t k = 0; k < kAverages; ++k) {
      block.g[k] += weight * bumps[k];
      block.d1[k] += z.z * bumps[k];
      block.d2[k] += z.second * bumps[k];
      block.d4[k] += z.fourth * bumps[k];
    }
    if (terms_ == 0) continue;
    std::copy_n(bumps.begin(), kBumps, some[kept].begin());
    if (++kept < kScoresTogether) continue;
    add_terms<kScoresTogether>(&scores.hermite[(m + 1 - kScoresTogether) * count], some.data(),
                               from);
    kept = 0;
  }
  for (std::size_t k = 0; k < kept; ++k)
    add_terms<1>(&scores.hermite[(last - kept + k) * count], &some[k], from);
  const Scores::Moments& beyond = scores.moments_from[last];
  block.fall += scores.weight_from[last];
  block.d1[0] -= beyond.z;
  block.d2[0] -= beyond.second;
  block.d4[0] -= beyond.fourth;
  for (std::size_t n = 0; terms_ > 0 && n < count; ++n) {
    double* const h = &h_[0][from + n * kLanes];
    vm::store(vm::load(h) - scores.hermite_from[last * count + n], h);
  }
  if (terms_ > 0) vm::store(Real{}, &h_[0][from]);
  block.fall = vm::clamp(block.fall, 0.0, 1.0);
  block.g[0] = vm::clamp(1.0 - block.fall, 1e-300, 1.0);
  block.log_f = vm::log1p(-vm::clamp(block.fall, 0.0, 1.0 - 0x1p-53));
  if (!is_gaussian_) return;
  if (tau_ < kSmallTau) return small_variance(scores, base, block);
  for (std::size_t k = 0; k < kAverages; ++k) {
    block.d1[k] /= tau_;
    block.d2[k] /= tau_ * tau_;
    block.d4[k] /= tau_ * tau_ * tau_ * tau_;
  }
}

/// By D g_k = k g_k - g_{k+1}.
void Row::small_variance(const Scores& scores, const Real& base, Block& block) {
  std::array<Real, kAverages + kExact> g{};
  for (std::size_t m = 0; m < scores.weight.size(); ++m) {
    const Real t = vm::clamp(base * scores.factor[m], 0.0, kLargest);
    Real power = scores.weight[m] * vm::exp(-t);
    for (Real& average : g) {
      average += power;
      power *= t;
    }
  }
  double power = 1.0;
  for (std::size_t n = 0; n <= kExact; ++n) {
    for (std::size_t k = 0; k < kAverages; ++k) {
      if (n == 1) block.d1[k] = g[k];
      if (n == 2) block.d2[k] = g[k];
      if (n == 4) block.d4[k] = g[k];
    }
    for (std::size_t k = 0; k < kBumps && static_cast<int>(n) <= terms_; ++k) {
      if (terms_ > 0 && n + k > 0)
        vm::store(power * g[k], &h_[k][at(blocks_.size(), static_cast<int>(n))]);
    }
    for (std::size_t k = 0; k + 1 < g.size(); ++k) g[k] = static_cast<double>(k) * g[k] - g[k + 1];
    power *= tau_ / std::sqrt(static_cast<double>(n + 1));
  }
}

}  // namespace scalecalc::gaussian::softmax
