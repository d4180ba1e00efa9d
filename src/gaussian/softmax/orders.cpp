#include "gaussian/softmax/orders.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "gaussian/lane_sum.hpp"

namespace scalecalc::gaussian::softmax {
namespace {

namespace vm = base::vector_math;
using vm::Real;

/// What the averages and the edges of the lattice leave.
constexpr double kRounding = 1e-8;
constexpr double kSmallest = 1e-12;

/// A value with its first two derivatives in tau2.
struct Jet {
  Real value{}, slope{}, curvature{};
};
Jet operator*(const Jet& a, const Jet& b) {
  return {a.value * b.value, a.slope * b.value + a.value * b.slope,
          a.curvature * b.value + 2.0 * a.slope * b.slope + a.value * b.curvature};
}
Jet operator*(double a, const Jet& b) {
  return {a * b.value, a * b.slope, a * b.curvature};
}
Jet operator+(const Jet& a, const Jet& b) {
  return {a.value + b.value, a.slope + b.slope, a.curvature + b.curvature};
}

/// All that an integrand is made of at a block of points. By the heat equation d/dtau2 = D^2/2, and
/// E[z f] = tau D E f, E[(z^2 - 1) f] = tau^2 D^2 E f, E[He4 f] = tau^4 D^4 E f: the a_kj of
/// docs/theory/softmax.md#derivation, times t^k.
struct Point {
  const Row::Block& at;
  double keys, tau;
  std::array<Jet, 4> powers;  ///< F^{T-k}, k >= 1

  Point(const Row::Block& block, double keys_of_row, double tau_of_row)
      : at(block), keys(keys_of_row), tau(tau_of_row) {
    const Real f = vm::clamp(at.g[0], kSmallest, 1.0);
    const Real slope = 0.5 * at.d2[0] / f, curvature = 0.25 * at.d4[0] / f;
    for (std::size_t k = 1; k < powers.size(); ++k) {
      const double n = keys - static_cast<double>(k);
      const Real value = vm::exp(n * at.log_f);
      powers[k] = {value, n * slope * value, n * (curvature + (n - 1.0) * slope * slope) * value};
    }
  }
  Jet jet(std::size_t k) const { return {at.g[k], 0.5 * at.d2[k], 0.25 * at.d4[k]}; }
  Real z(std::size_t k) const { return tau * at.d1[k]; }         ///< a_k1
  Real zz(std::size_t k) const { return tau * tau * at.d2[k]; }  ///< a_k2 - a_k0
  Real h(std::size_t k) const { return tau * tau * tau * tau * at.d4[k]; }
};

enum Quantity {
  kP2,
  kP2Slope,
  kP2Curvature,
  kP3,
  kP4,
  kP22,
  kA,
  kASlope,
  kACurvature,
  kM2,
  kB,
  kHp2,
  kHa,
  kQ1,
  kQ2,
  kJp,
  kQuantities
};
using Values = std::array<Real, kQuantities>;

/// The integrands of docs/theory/softmax.md#orders; dt t^{k-1} = t^k dy.
Values integrand(const Point& point) {
  const double t = point.keys, pairs = t * (t - 1.0), triples = pairs * (t - 2.0);
  const auto& g = point.at.g;
  const Jet& one = point.powers[1];
  const Jet& two = point.powers[2];
  const Real w1 = t * one.value, w2 = pairs * two.value, w3 = triples * point.powers[3].value;
  const Jet g2 = point.jet(2);
  const Jet p2 = t * (g2 * one), p3 = 0.5 * t * (point.jet(3) * one);
  const Jet p4 = t / 6.0 * (point.jet(4) * one), p22 = p4 + pairs / 6.0 * (g2 * g2 * two);
  const Jet a = p2 + -2.0 * p3 + p22;
  const Real z1 = point.z(1), z2 = point.z(2), z3 = point.z(3);
  const Real zz2 = point.zz(2), zz3 = point.zz(3), zz4 = point.zz(4);
  const Real a22 = g[2] + zz2, a32 = g[3] + zz3, a42 = g[4] + zz4;
  const Real m2 = a22 * w1 + z1 * z1 * w2;
  const Real b = a22 * w1 - (a32 * w1 + z2 * z1 * w2) +
                 (a42 * w1 + (2.0 * z3 * z1 + g[2] * a22) * w2 + g[2] * z1 * z1 * w3) / 6.0;
  const Real h0 = point.h(0), h2 = point.h(2);
  const Real hp2 = h2 * w1 + g[2] * h0 * w2;
  const Real hp3 = 0.5 * (point.h(3) * w1 + g[3] * h0 * w2);
  const Real hp22 =
      (point.h(4) * w1 + (g[4] * h0 + 2.0 * h2 * g[2]) * w2 + g[2] * g[2] * h0 * w3) / 6.0;
  const Real q1 = zz2 * w1;
  const Real q2 = q1 - zz3 * w1 + (zz4 * w1 + zz2 * g[2] * w2) / 6.0;
  // d/dy g_k = k g_k - g_{k+1}.
  const Real g5 = 4.0 * g[4] - point.at.d1[4];
  const Real g6 = 5.0 * g5 - 4.0 * point.at.d1[4] + point.at.d2[4];
  const Real p3p2 = (g5 * w1 + g[3] * g[2] * w2) / 24.0;
  const Real p2_cubed = (g6 * w1 + 3.0 * g[4] * g[2] * w2 + g[2] * g[2] * g[2] * w3) / 120.0;
  return {p2.value,
          p2.slope,
          p2.curvature,
          p3.value,
          p4.value,
          p22.value,
          a.value,
          a.slope,
          a.curvature,
          m2,
          b,
          hp2,
          hp2 - 2.0 * hp3 + hp22,
          q1,
          q2,
          p4.value - 2.0 * p3p2 + p2_cubed};
}

/// p = 1 whatever the score.
SoftmaxOrders one_key() {
  SoftmaxOrders out;
  out.p2 = out.m2 = 1.0;
  return out;
}

}  // namespace

SoftmaxOrders integrate_orders(const Row& row) {
  if (row.keys() == 1.0) return one_key();
  std::array<double, kQuantities> sums{};
  double coarse = 0;  // the difference of the sums over even and odd points, of P2
  for (const Row::Block& block : row.blocks()) {
    const Values values = integrand(Point(block, row.keys(), row.tau()));
    for (std::size_t k = 0; k < kQuantities; ++k) {
      const Real term = block.weight * values[k];
      sums[k] += lane_sum(term);
      if (k != kP2) continue;
      for (std::size_t lane = 0; lane < vm::lanes; ++lane) {
        coarse += lane % 2 == 0 ? term[lane] : -term[lane];
      }
    }
  }
  SoftmaxOrders out;
  out.p2 = sums[kP2];
  out.p2_slope = sums[kP2Slope];
  out.p2_curvature = sums[kP2Curvature];
  out.a = sums[kA];
  out.a_slope = sums[kASlope];
  out.a_curvature = sums[kACurvature];
  out.t2 = 1.0 - 2.0 * sums[kP2] + sums[kP22];
  out.m2 = sums[kM2];
  out.b = sums[kB];
  out.hp2 = sums[kHp2];
  out.ha = sums[kHa];
  out.q1 = sums[kQ1];
  out.q2 = sums[kQ2];
  out.s = sums[kP2] - 2.0 * sums[kP3] + sums[kP4];
  out.jp = sums[kJp];
  // The rule errs as the square of that at twice the step; the higher bumps of A are sharper.
  out.error = 10.0 * coarse * coarse / out.p2 + kRounding * out.p2;
  return out;
}

}  // namespace scalecalc::gaussian::softmax
