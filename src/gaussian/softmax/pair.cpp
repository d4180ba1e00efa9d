#include "gaussian/softmax/pair.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "gaussian/softmax/check.hpp"
#include "gaussian/softmax/one.hpp"
#include "gaussian/softmax/pair_average.hpp"

namespace scalecalc {
namespace gaussian::softmax {
namespace {

namespace vm = base::vector_math;

/// What the averages and the roundings leave.
constexpr double kRounding = 1e-10;
/// Points this far below the largest one are left out.
constexpr double kNegligible = 1e-13;
constexpr std::int64_t kLanes = vm::lanes;

struct Integrands {
  vm::Real overlap, a_prime;
};

/// Sums over every third row, and every third point of each row.
struct Sums {
  std::array<double, 3> rows{}, points{};
};

std::size_t third(std::int64_t n) {
  return static_cast<std::size_t>((n % 3 + 3) % 3);
}

/// With u = ln a, v = ln b, n keys in both rows and m more in the second, F = G_00 and
/// psi = E g_0(v + s'):
///   O  = n IntInt G_11 F^{n-1} psi^m du dv,
///   A' = n (n-1) IntInt psi^m [2 G_11^2 F^{n-2} + (n-2) G_11 G_10 G_01 F^{n-3}]
///                       + m psi^{m-1} G_11 G_10 G_1(v) F^{n-2} du dv.
/// The second is dO/dc by Price: dG_jk/dc = tau2 d^2 G_jk/du dv, integrated by parts.
class TwoRows {
 public:
  TwoRows(double fewer, double more, double tau2, double correlation, double finer)
      : keys_(fewer),
        more_(more - fewer),
        fixed_is_difference_(correlation >= 0.0),
        averages_(fewer, tau2, correlation, finer),
        extent_(30.0 + kTails * std::sqrt(tau2)) {}

  SoftmaxPair integrate();

 private:
  struct Row {
    double largest = 0;
    std::int64_t where = 0;
  };
  Integrands integrand(std::int64_t fixed, std::int64_t along) const;
  std::int64_t start() const;
  Row run(std::int64_t fixed, std::int64_t from);
  void march(std::int64_t fixed, int direction, Row previous);
  void add(std::int64_t fixed, std::int64_t along, double overlap, double a_prime);
  bool symmetric() const { return more_ == 0.0; }

  double keys_, more_;
  bool fixed_is_difference_;
  PairAverage averages_;
  double extent_, largest_ = 0;
  Sums overlap_, a_prime_;
};

Integrands TwoRows::integrand(std::int64_t fixed, std::int64_t along) const {
  const PairAverages g = averages_.at(fixed, along);
  // F never reaches 0, so that F^0 is 1 there too.
  const vm::Real f = vm::clamp(1.0 - g.fall, 0x1p-53, 1.0);
  const vm::Real log_f = vm::log1p(-vm::clamp(g.fall, 0.0, 1.0 - 0x1p-53));
  vm::Real log_rest = (keys_ - 2.0) * log_f, longer{};
  if (!symmetric()) {
    const vm::Real log_psi = vm::log1p(-vm::clamp(g.fall_v, 0.0, 1.0 - 0x1p-53));
    log_rest += more_ * log_psi;
    longer = more_ * g.g10 * g.g_v / vm::clamp(1.0 - g.fall_v, 0x1p-53, 1.0);
  }
  const vm::Real rest = keys_ * g.g11 * vm::exp(log_rest);
  const vm::Real inner = 2.0 * g.g11 + (keys_ - 2.0) * g.g10 * g.g01 / f + longer;
  return {rest * f, (keys_ - 1.0) * rest * inner};
}

/// Along the middle row, the point where (n + m)(1 - F) is about 1.
std::int64_t TwoRows::start() const {
  const double target = std::min(0.5, 1.0 / (keys_ + more_));
  const double step = fixed_is_difference_ ? averages_.along_step() : averages_.fixed_step();
  std::int64_t low = static_cast<std::int64_t>(-extent_ / step), high = -low;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const double fall =
        fixed_is_difference_ ? averages_.fall(0, middle) : averages_.fall(middle, 0);
    (fall < target ? low : high) = middle;
  }
  return low;
}

/// With its mirror image where both rows have the same number of keys.
void TwoRows::add(std::int64_t fixed, std::int64_t along, double overlap, double a_prime) {
  overlap_.rows[third(fixed)] += overlap;
  overlap_.points[third(along)] += overlap;
  a_prime_.rows[third(fixed)] += a_prime;
  a_prime_.points[third(along)] += a_prime;
  const bool mirror = symmetric() && (fixed_is_difference_ ? fixed : along) > 0;
  if (mirror && fixed_is_difference_) add(-fixed, along, overlap, a_prime);
  if (mirror && !fixed_is_difference_) add(fixed, -along, overlap, a_prime);
}

/// Adds one row, from a point near its largest value.
TwoRows::Row TwoRows::run(std::int64_t fixed, std::int64_t from) {
  Row row{0.0, from};
  const bool half = symmetric() && !fixed_is_difference_;
  const auto chunk = [&](std::int64_t along, std::int64_t edge) {
    const Integrands value = integrand(fixed, along);
    double at_edge = 0;
    for (std::int64_t k = 0; k < kLanes; ++k) {
      if (half && along + k < 0) continue;
      const double size = value.overlap[k] + value.a_prime[k];
      if (size > row.largest) row = {size, along + k};
      if (k == edge) at_edge = size;
      add(fixed, along + k, value.overlap[k], value.a_prime[k]);
    }
    largest_ = std::max(largest_, row.largest);
    return at_edge > kNegligible * largest_ || (at_edge > 0.0 && at_edge == row.largest);
  };
  std::int64_t along = half ? std::max<std::int64_t>(from - kLanes / 2, 0) : from - kLanes / 2;
  for (std::int64_t up = along; chunk(up, kLanes - 1);) up += kLanes;
  for (along -= kLanes; !half || along + kLanes > 0; along -= kLanes) {
    if (!chunk(along, 0) && !(half && along < 0)) break;
  }
  return row;
}

void TwoRows::march(std::int64_t fixed, int direction, Row previous) {
  for (;; fixed += direction) {
    const Row row = run(fixed, previous.where);
    if (row.largest <= kNegligible * largest_ && row.largest <= previous.largest) return;
    previous = row;
  }
}

/// As for one row; both directions of the lattice are thinned in turn.
Estimate estimate(double cell, const Sums& sums) {
  const double total = sums.rows[0] + sums.rows[1] + sums.rows[2];
  double error = kRounding;
  for (const auto& thirds : {sums.rows, sums.points}) {
    double coarse = 0;
    for (const double sum : thirds) coarse = std::max(coarse, std::abs(3.0 * sum / total - 1.0));
    error += 0.25 * coarse * coarse * coarse;
  }
  return {cell * total, cell * total * error, Method::quadrature};
}

SoftmaxPair TwoRows::integrate() {
  const std::int64_t from = start();
  const std::int64_t fixed = fixed_is_difference_ ? 0 : from;
  const Row middle = run(fixed, fixed_is_difference_ ? from : 0);
  march(fixed + 1, 1, middle);
  if (!(symmetric() && fixed_is_difference_)) march(fixed - 1, -1, middle);
  // u = y + d, v = y - d: du dv = 2 dy dd.
  const double cell = 2.0 * averages_.fixed_step() * averages_.along_step();
  return {estimate(cell, overlap_), estimate(cell, a_prime_)};
}

Estimate exact(double value) {
  return {value, 0.0, Method::closed_form};
}

/// Few keys in one row and many in the other, or opposed scores, may ask for finer lattices.
bool accurate(const Estimate& estimate) {
  return estimate.error <= 1e-6 * estimate.value;
}

}  // namespace

SoftmaxPair integrate_pair(double fewer, double more, double tau2, double correlation,
                           double finer) {
  // Equal or independent weights: O = n/(N N') with n = N shared keys; equal ones of N and N' keys
  // have A' = n/(N N') (1 - 1/N - 1/N' + n/(N N')).
  if (fewer == 1.0) return {exact(1.0 / more), exact(0.0)};
  if (tau2 == 0.0) return {exact(1.0 / more), exact((1.0 - 1.0 / fewer) / more)};
  SoftmaxPair pair = TwoRows(fewer, more, tau2, correlation, finer).integrate();
  if (correlation == 0.0) pair.overlap = exact(1.0 / more);
  return pair;
}

}  // namespace gaussian::softmax

SoftmaxPair softmax_pair(std::int64_t keys, double tau2, double correlation) {
  return softmax_pair(keys, keys, tau2, correlation);
}

SoftmaxPair softmax_pair(std::int64_t fewer, std::int64_t more, double tau2, double correlation) {
  gaussian::softmax::check_keys(fewer, more);
  gaussian::softmax::check_variance(tau2);
  gaussian::softmax::check_correlation(correlation);
  if (fewer == more && correlation == 1.0) {
    const SoftmaxOne one = gaussian::softmax::integrate_one(static_cast<double>(more), tau2);
    return {one.p2, one.a};
  }
  const double keys = static_cast<double>(fewer), most = static_cast<double>(more);
  SoftmaxPair pair = gaussian::softmax::integrate_pair(keys, most, tau2, correlation);
  for (const double finer : {1.3, 1.7, 2.2}) {
    if (gaussian::softmax::accurate(pair.overlap) && gaussian::softmax::accurate(pair.a_prime))
      break;
    pair = gaussian::softmax::integrate_pair(keys, most, tau2, correlation, finer);
  }
  return pair;
}

}  // namespace scalecalc
