#include "gaussian/softmax/overlaps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gaussian/lane_sum.hpp"

namespace scalecalc::gaussian::softmax {
namespace {

namespace vm = base::vector_math;
using vm::Real;

constexpr int kOrders = 4;  ///< O and three derivatives
constexpr std::size_t kSquare = kOrders, kQuantities = kOrders + 1;
/// What a series of kSeriesDigits, the averages and the edges leave.
constexpr double kRounding = 1e-8;
/// Of a derivative, for each digit that the series has less: its terms are multiplied by n.
constexpr double kLostDigits = 1.3;
/// F is a difference of numbers of the order of 1.
constexpr double kSmallest = 1e-12;

/// Blocks of v that a u meets at once: as many sums as there are registers for.
constexpr std::size_t kTogether = vm::lanes == 8 ? 2 : 1;
/// Powers up to this one are products; others go by the logarithm.
constexpr double kLargestPower = 0x1p20;

using Orders = std::array<Real, kOrders>;
using Values = std::array<Real, kQuantities>;

/// x^n of 0 < x <= 1 and a whole n: to 2 n roundings of x and its squares.
Real whole_power(Real x, std::uint32_t n) {
  Real power = vm::all(1.0);
  for (; n > 1; n /= 2) {
    if (n % 2 == 1) power *= x;
    x *= x;
  }
  return n == 1 ? power * x : power;
}

/// With u = ln a, v = ln b over n keys shared and m more in the second row, G = G_11, F = G_00,
/// psi = E g_0(v + s'):
///   O = n IntInt G F^{n-1} psi^m du dv.
/// By Mehler's series the derivatives of G in c are sums of the same terms, and by Price
/// dF/dc = tau tau' G. The square is
///   IntInt n G_22 F^{n-1} psi^m + n (n-1) G^2 F^{n-2} psi^m du dv.
class TwoRows {
 public:
  TwoRows(const Row& fewer, const Row& more, double correlation, double digits)
      : first_(fewer),
        second_(more),
        c_(correlation),
        same_(&fewer == &more),
        terms_(std::min({fewer.terms(), more.terms(),
                         series_terms(std::sqrt(fewer.tau() * more.tau()), correlation, digits)})),
        left_out_(kRounding * std::pow(10.0, kLostDigits * (kSeriesDigits - digits))),
        price_(fewer.tau() * more.tau()),
        others_(fewer.keys() - 1.0),
        is_whole_(others_ <= kLargestPower && others_ == std::floor(others_)),
        left_(static_cast<std::size_t>(terms_ + 1)) {
    for (const Row::Block& v : more.blocks())
      beyond_.push_back(same_ ? vm::all(1.0) : vm::exp((more.keys() - fewer.keys()) * v.log_f));
  }

  SoftmaxOverlaps integrate();

 private:
  /// h(u) times c^n and its derivatives.
  struct Left {
    std::array<double, kOrders> h1;
    double h0, h2;
  };
  /// Sums over n at a u and a block of v: G and its derivatives, F - F_u F_v, G_22.
  struct Sums {
    Orders g{};
    Real f{}, g22{};
  };
  void load_left(std::size_t block, std::size_t lane);
  template <std::size_t count>
  std::array<Sums, count> sums(std::size_t v_block) const;
  Values integrand(const Sums& sums, double u_fall, std::size_t v_block) const;
  template <std::size_t count>
  void add(std::size_t block, std::size_t lane, std::size_t v_block, Values& row) const;
  Real mirrored(std::size_t block, std::size_t lane, std::size_t v_block) const;

  const Row& first_;
  const Row& second_;
  double c_;
  bool same_;
  int terms_;
  double left_out_, price_, others_;
  bool is_whole_;  ///< n - 1
  std::vector<Left> left_;
  std::vector<Real> beyond_;  ///< psi^m at each block of v
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

template <std::size_t count>
std::array<TwoRows::Sums, count> TwoRows::sums(std::size_t v_block) const {
  std::array<const double*, count> h0, h1, h2;
  for (std::size_t b = 0; b < count; ++b) {
    h0[b] = second_.h(0, v_block + b, 0);
    h1[b] = second_.h(1, v_block + b, 0);
    h2[b] = second_.h(2, v_block + b, 0);
  }
  std::array<Sums, count> made{};
  std::size_t at = 0;
  for (const Left& left : left_) {
    for (std::size_t b = 0; b < count; ++b) {
      const Real right = vm::load(h1[b] + at);
      for (std::size_t k = 0; k < kOrders; ++k) made[b].g[k] += left.h1[k] * right;
      made[b].f += left.h0 * vm::load(h0[b] + at);
      made[b].g22 += left.h2 * vm::load(h2[b] + at);
    }
    at += vm::lanes;
  }
  return made;
}

/// d^k/dc^k of G F^{n-1} psi^m, and the square's.
Values TwoRows::integrand(const Sums& sums, double u_fall, std::size_t v_block) const {
  const Real& v_fall = second_.blocks()[v_block].fall;
  const Real fall = vm::clamp(u_fall + v_fall - u_fall * v_fall - sums.f, 0.0, 1.0 - kSmallest);
  const Real f = 1.0 - fall, inverse = 1.0 / f;
  const Real others = is_whole_ ? whole_power(f, static_cast<std::uint32_t>(others_))
                                : vm::exp(others_ * vm::log1p(-fall));
  const Real power = first_.keys() * others * beyond_[v_block];
  const Orders& g = sums.g;
  // Derivatives of ln F, and of (n-1) ln F.
  const Real f1 = price_ * inverse * g[0], f2 = price_ * inverse * g[1];
  const Real f3 = price_ * inverse * g[2];
  const Real a = others_ * f1, a1 = others_ * (f2 - f1 * f1);
  const Real a2 = others_ * (f3 - 3.0 * f1 * f2 + 2.0 * f1 * f1 * f1);
  const Real p2 = a * a + a1, p3 = a * p2 + 2.0 * a * a1 + a2;
  return {power * g[0], power * (g[1] + g[0] * a), power * (g[2] + 2.0 * g[1] * a + g[0] * p2),
          power * (g[3] + 3.0 * (g[2] * a + g[1] * p2) + g[0] * p3),
          power * (sums.g22 + others_ * inverse * g[0] * g[0])};
}

template <std::size_t count>
void TwoRows::add(std::size_t block, std::size_t lane, std::size_t v_block, Values& row) const {
  const std::array<Sums, count> found = sums<count>(v_block);
  for (std::size_t b = 0; b < count; ++b) {
    const Values value = integrand(found[b], first_.blocks()[block].fall[lane], v_block + b);
    const Real weight = mirrored(block, lane, v_block + b);
    for (std::size_t k = 0; k < kQuantities; ++k) row[k] += weight * value[k];
  }
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
  std::array<Values, 2> both{};  // over every second u
  for (std::size_t i = 0; i < first_.points(); ++i) {
    const std::size_t block = i / vm::lanes, lane = i % vm::lanes;
    const Row::Block& u = first_.blocks()[block];
    load_left(block, lane);
    Values row{};
    std::size_t j = same_ ? block : 0;
    for (; j + kTogether <= second_.blocks().size(); j += kTogether)
      add<kTogether>(block, lane, j, row);
    for (; j < second_.blocks().size(); ++j) add<1>(block, lane, j, row);
    for (std::size_t k = 0; k < kQuantities; ++k) both[i % 2][k] += u.weight[lane] * row[k];
  }
  std::array<std::array<double, kQuantities>, 2> sums;
  for (std::size_t half = 0; half < 2; ++half)
    for (std::size_t k = 0; k < kQuantities; ++k) sums[half][k] = lane_sum(both[half][k]);
  const auto total = [&](std::size_t k) { return sums[0][k] + sums[1][k]; };
  // Many keys look into the tails, where the terms left out weigh more.
  double error = left_out_ * (1.0 + 0.1 * std::cbrt(second_.keys()));
  for (const std::size_t k : {0, 1}) {
    // Half of the points halve the digits. A' vanishes for one key.
    const double coarse =
        (sums[0][k] - sums[1][k]) / std::max(total(k), static_cast<double>(k) * price_ * total(0));
    error = std::max(error, coarse * coarse);
  }
  return {total(0), total(1) / price_, total(2) / price_, total(3) / price_, total(kSquare), error};
}

}  // namespace

SoftmaxOverlaps integrate_overlaps(const Row& fewer, const Row& more, double correlation,
                                   double digits) {
  SoftmaxOverlaps out = TwoRows(fewer, more, correlation, digits).integrate();
  if (fewer.keys() > 1.0) return out;
  // A row of one key does not move, and the other's weights are alike.
  out.overlap = 1.0 / more.keys();
  out.a_prime = out.a_second = out.a_third = out.error = 0.0;
  return out;
}

}  // namespace scalecalc::gaussian::softmax
