#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "base/vector_math.hpp"
#include "gaussian/monte_carlo/blocks.hpp"
#include "gaussian/monte_carlo/normals.hpp"
#include "gaussian/softmax/check.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc {
namespace gaussian::softmax {
namespace {

namespace vm = base::vector_math;
using vm::Real;

constexpr std::uint64_t kStreamId = 0x736F66746D610001u;
constexpr std::size_t kGroup = 8;  ///< samples drawn side by side, on every machine
constexpr std::int64_t kTile = 128;
constexpr std::size_t kQuantities = 4;
using Values = std::array<std::vector<double>, kQuantities>;  ///< p2, a, overlap, a_prime

struct Rows {
  std::int64_t fewer, more;
  double tau, correlation;
  base::Stream stream;

  std::int64_t tiles() const { return (more - 1) / kTile + 1; }
  std::int64_t block_samples() const { return more > 64 ? 64 : 1024; }
};

/// Sums of e^{i (s - top)} e^{j (s' - top')} over the keys seen so far, for some samples.
struct Sums {
  Real top = vm::all(-1e300), top_second = top;
  Real e1{}, e2{}, e3{}, f1{}, e1f1{}, e2f1{}, e1f2{};

  void lift(const Real& s, const Real& s_second);
  void add(const Real& s, const Real& s_second);
  void add_second(const Real& s_second) { f1 += vm::exp(s_second - top_second); }
};

Real larger(const Real& a, const Real& b) {
  return a > b ? a : b;
}

/// Moves the references up to new largest scores.
void Sums::lift(const Real& s, const Real& s_second) {
  const Real next = larger(top, s), next_second = larger(top_second, s_second);
  const Real e = vm::exp(top - next), f = vm::exp(top_second - next_second);
  top = next;
  top_second = next_second;
  e1 *= e;
  e2 *= e * e;
  e3 *= e * e * e;
  f1 *= f;
  e1f1 *= e * f;
  e2f1 *= e * e * f;
  e1f2 *= e * f * f;
}

void Sums::add(const Real& s, const Real& s_second) {
  const Real e = vm::exp(s - top), f = vm::exp(s_second - top_second);
  e1 += e;
  e2 += e * e;
  e3 += e * e * e;
  f1 += f;
  e1f1 += e * f;
  e2f1 += e * e * f;
  e1f2 += e * f * f;
}

class Sampler {
 public:
  explicit Sampler(const Rows& rows) : rows_(rows), scores_(2 * kTile * kGroup) {
    rest_ = std::sqrt((1.0 - rows.correlation) * (1.0 + rows.correlation));
  }
  std::vector<gaussian::monte_carlo::Tally> block(std::int64_t index);

 private:
  using Group = std::array<Sums, kGroup / vm::lanes>;
  void tile(std::int64_t group, std::int64_t index, Group& sums);
  static void finish(const Sums& sums, Values& values);

  Rows rows_;
  double rest_;
  std::vector<double> scores_;
};

/// The keys of one tile, for one group of samples; scores_ holds z and z', key by key.
void Sampler::tile(std::int64_t group, std::int64_t index, Group& sums) {
  const std::int64_t first = index * kTile, keys = std::min(kTile, rows_.more - first);
  const std::int64_t shared = std::clamp<std::int64_t>(rows_.fewer - first, 0, keys);
  const std::size_t count = static_cast<std::size_t>(keys) * kGroup;
  const std::uint64_t tile = static_cast<std::uint64_t>(group * rows_.tiles() + index);
  gaussian::monte_carlo::fill_normals(rows_.stream, tile * kTile * kGroup, 2 * count,
                                      scores_.data());
  for (std::size_t part = 0; part < sums.size(); ++part) {
    double* const z = &scores_[part * vm::lanes];
    Real top = vm::all(-1e300), top_second = top;
    for (std::size_t i = 0; i < count; i += kGroup) {
      const bool both = i < static_cast<std::size_t>(shared) * kGroup;
      const Real own = vm::load(z + count + i), s = rows_.tau * vm::load(z + i);
      const Real second = both ? rows_.correlation * s + (rest_ * rows_.tau) * own : s;
      vm::store(s, z + i);
      vm::store(second, z + count + i);
      top = both ? larger(top, s) : top;
      top_second = larger(top_second, second);
    }
    Sums& sum = sums[part];
    sum.lift(top, top_second);
    for (std::size_t i = 0; i < count; i += kGroup) {
      if (i < static_cast<std::size_t>(shared) * kGroup) {
        sum.add(vm::load(z + i), vm::load(z + count + i));
      } else {
        sum.add_second(vm::load(z + count + i));
      }
    }
  }
}

void Sampler::finish(const Sums& sums, Values& values) {
  const Real p = 1.0 / sums.e1, q = 1.0 / sums.f1;
  const Real p2 = sums.e2 * p * p, overlap = sums.e1f1 * p * q;
  const std::array<Real, kQuantities> out = {
      p2, p2 - 2.0 * sums.e3 * p * p * p + p2 * p2, overlap,
      overlap - (sums.e2f1 * p + sums.e1f2 * q) * p * q + overlap * overlap};
  for (std::size_t k = 0; k < kQuantities; ++k) {
    for (std::size_t lane = 0; lane < vm::lanes; ++lane) values[k].push_back(out[k][lane]);
  }
}

std::vector<gaussian::monte_carlo::Tally> Sampler::block(std::int64_t index) {
  const std::int64_t groups = rows_.block_samples() / static_cast<std::int64_t>(kGroup);
  Values values;
  for (std::int64_t group = index * groups; group < (index + 1) * groups; ++group) {
    Group sums;
    for (std::int64_t k = 0; k < rows_.tiles(); ++k) tile(group, k, sums);
    for (const Sums& part : sums) finish(part, values);
  }
  std::vector<gaussian::monte_carlo::Tally> out;
  for (const std::vector<double>& column : values)
    out.push_back(gaussian::monte_carlo::tally(column));
  return out;
}

}  // namespace
}  // namespace gaussian::softmax

SoftmaxSamples softmax_monte_carlo(std::int64_t fewer, std::int64_t more, double tau2,
                                   double correlation, const MonteCarloOptions& options) {
  gaussian::softmax::check_keys(fewer, more);
  gaussian::softmax::check_variance(tau2);
  gaussian::softmax::check_correlation(correlation);
  gaussian::monte_carlo::check_options(options);
  const gaussian::softmax::Rows rows{
      fewer, more, std::sqrt(tau2), correlation, {options.seed, gaussian::softmax::kStreamId}};
  const auto make_worker = [&]() -> gaussian::monte_carlo::Worker {
    return [sampler = std::make_shared<gaussian::softmax::Sampler>(rows)](std::int64_t block) {
      return sampler->block(block);
    };
  };
  const std::vector<gaussian::monte_carlo::Tally> tallies = gaussian::monte_carlo::run_blocks(
      (options.samples - 1) / rows.block_samples() + 1, options.threads,
      gaussian::softmax::kQuantities, make_worker);
  const auto estimate = [&](std::size_t k) {
    return Estimate{tallies[k].mean, tallies[k].standard_error(), Method::monte_carlo};
  };
  return {estimate(0), estimate(1), estimate(2), estimate(3)};
}

}  // namespace scalecalc
