#include "gaussian/softmax/overlaps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "gaussian/lane_sum.hpp"

namespace scalecalc::gaussian::softmax {
namespace {

namespace vm = base::vector_math;
using vm::Real;

constexpr int kOrders = 4;  ///< O and three derivatives
constexpr std::size_t kSquare = kOrders, kQuantities = kOrders + 1;
/// What the series, the averages and the edges leave.
constexpr double kRounding = 1e-8;
/// F is a difference of numbers of the order of 1.
constexpr double kSmallest = 1e-12;

using Orders = std::array<Real, kOrders>;
using Values = std::array<Real, kQuantities>;

/// With u = ln a, v = ln b over n keys shared and m more in the second row, G = G_11, F = G_00,
/// psi = E g_0(v + s'):
///   O = n IntInt G F^{n-1} psi^m du dv.
/// By Mehler's series the derivatives of G in c are sums of the same terms, and by Price
/// dF/dc = tau tau' G. The square is
///   IntInt n G_22 F^{n-1} psi^m + n (n-1) G^2 F^{n-2} psi^m du dv.
class TwoRows {
 public:
  TwoRows(const Row& fewer, const Row& more, double correlation)
      : first_(fewer),
        second_(more),
        c_(correlation),
        same_(&fewer == &more),
        terms_(std::min({fewer.terms(), more.terms(),
                         series_terms(std::sqrt(fewer.tau() * more.tau()), correlation)})),
        price_(fewer.tau() * more.tau()),
        left_(static_cast<std::size_t>(terms_ + 1)) {}

  SoftmaxOverlaps integrate();

 private:
  /// h(u) times c^n and its derivatives.
  struct Left {
    std::array<double, kOrders> h1;
    double h0, h2;
  };
  void load_left(std::size_t block, std::size_t lane);
  Values point(const Row::Block& u, std::size_t lane, std::size_t v_block) const;
  Values integrand(const Orders& g, const Real& g22, const Real& fall, const Row::Block& v) const;
  Real mirrored(std::size_t block, std::size_t lane, std::size_t v_block) const;

  const Row& first_;
  const Row& second_;
  double c_;
  bool same_;
  int terms_;
  double price_;
  std::vector<Left> left_;
};

void TwoRows::load_left(std::size_t block, std::size_t lane) {
  std::array<double, kOrders> power = {1.0, 0.0, 0.0, 0.0};
  for (int n = 0; n <= terms_; ++n) {
    Left& left = left_[static_cast<std::size_t>(n)];
    left.h0 = first_.h(0, block, n)[lane] * power[0];
    left.h2 = first_.h(2, block, n)[lane] * power[0];
    const double h1 = first_.h(1, block, n)[lane];
    for (std::size_t k = 0; k < kOrders; ++k) left.h1[k] = h1 * power[k];
    // (c f)^(k) = c f^(k) + k f^(k-1).
    for (std::size_t k = kOrders; k-- > 0;) {
      power[k] = c_ * power[k] + (k > 0 ? static_cast<double>(k) * power[k - 1] : 0.0);
    }
  }
}

Values TwoRows::point(const Row::Block& u, std::size_t lane, std::size_t v_block) const {
  const double* h0 = second_.h(0, v_block, 0);
  const double* h1 = second_.h(1, v_block, 0);
  const double* h2 = second_.h(2, v_block, 0);
  Orders g{};
  Real f{}, g22{};
  for (const Left& left : left_) {
    const Real right = vm::load(h1);
    for (std::size_t k = 0; k < kOrders; ++k) g[k] += left.h1[k] * right;
    f += left.h0 * vm::load(h0);
    g22 += left.h2 * vm::load(h2);
    h0 += vm::lanes;
    h1 += vm::lanes;
    h2 += vm::lanes;
  }
  const Row::Block& v = second_.blocks()[v_block];
  const Real fall = u.fall[lane] + v.fall - u.fall[lane] * v.fall - f;
  return integrand(g, g22, vm::clamp(fall, 0.0, 1.0 - kSmallest), v);
}

/// d^k/dc^k of G F^{n-1} psi^m, and the square's.
Values TwoRows::integrand(const Orders& g, const Real& g22, const Real& fall,
                          const Row::Block& v) const {
  const double n = first_.keys(), others = n - 1.0;
  Real log_power = others * vm::log1p(-fall);
  if (!same_) log_power += (second_.keys() - n) * v.log_f;
  const Real power = n * vm::exp(log_power), inverse = 1.0 / (1.0 - fall);
  // Derivatives of ln F, and of (n-1) ln F.
  const Real f1 = price_ * inverse * g[0], f2 = price_ * inverse * g[1];
  const Real f3 = price_ * inverse * g[2];
  const Real a = others * f1, a1 = others * (f2 - f1 * f1);
  const Real a2 = others * (f3 - 3.0 * f1 * f2 + 2.0 * f1 * f1 * f1);
  const Real p2 = a * a + a1, p3 = a * p2 + 2.0 * a * a1 + a2;
  return {power * g[0], power * (g[1] + g[0] * a), power * (g[2] + 2.0 * g[1] * a + g[0] * p2),
          power * (g[3] + 3.0 * (g[2] * a + g[1] * p2) + g[0] * p3),
          power * (g22 + others * inverse * g[0] * g[0])};
}

/// Weights of a block of v where only v >= u is visited: the others are its mirror image.
Real TwoRows::mirrored(std::size_t block, std::size_t lane, std::size_t v_block) const {
  Real weight = second_.blocks()[v_block].weight;
  if (!same_) return weight;
  if (v_block > block) return 2.0 * weight;
  for (std::size_t k = 0; k < vm::lanes; ++k) weight[k] *= k < lane ? 0.0 : k > lane ? 2.0 : 1.0;
  return weight;
}

SoftmaxOverlaps TwoRows::integrate() {
  std::array<std::array<double, kQuantities>, 2> sums{};  // over every second u
  for (std::size_t i = 0; i < first_.blocks().size() * vm::lanes; ++i) {
    const std::size_t block = i / vm::lanes, lane = i % vm::lanes;
    const Row::Block& u = first_.blocks()[block];
    load_left(block, lane);
    Values row{};
    for (std::size_t j = same_ ? block : 0; j < second_.blocks().size(); ++j) {
      const Values value = point(u, lane, j);
      const Real weight = mirrored(block, lane, j);
      for (std::size_t k = 0; k < kQuantities; ++k) row[k] += weight * value[k];
    }
    for (std::size_t k = 0; k < kQuantities; ++k)
      sums[i % 2][k] += u.weight[lane] * lane_sum(row[k]);
  }
  const auto total = [&](std::size_t k) { return sums[0][k] + sums[1][k]; };
  // Many keys look into the tails, where the terms left out weigh more.
  double error = kRounding * (1.0 + 0.1 * std::cbrt(second_.keys()));
  for (const std::size_t k : {0, 1}) {
    // Half of the points halve the digits. A' vanishes for one key.
    const double coarse =
        (sums[0][k] - sums[1][k]) / std::max(total(k), static_cast<double>(k) * price_ * total(0));
    error = std::max(error, coarse * coarse);
  }
  return {total(0), total(1) / price_, total(2) / price_, total(3) / price_, total(kSquare), error};
}

}  // namespace

SoftmaxOverlaps integrate_overlaps(const Row& fewer, const Row& more, double correlation) {
  SoftmaxOverlaps out = TwoRows(fewer, more, correlation).integrate();
  if (fewer.keys() > 1.0) return out;
  // A row of one key does not move, and the other's weights are alike.
  out.overlap = 1.0 / more.keys();
  out.a_prime = out.a_second = out.a_third = 0.0;
  return out;
}

}  // namespace scalecalc::gaussian::softmax
