#include "gaussian/monte_carlo/normals.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "gaussian/monte_carlo/tally.hpp"

using namespace scalecalc;
using namespace scalecalc::gaussian::monte_carlo;

namespace {

/// 52 bits and a half, times 2^-52.
double uniform(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

}  // namespace

// The radius is at most 8.6 and the angle's rounding is pi epsilon: 1e-14 leaves a factor of two.
TEST_CASE("normals are Box and Muller's of the Philox words") {
  const base::Stream stream{0x0123456789ABCDEFu, 0xFEDCBA9876543210u};
  for (const std::uint64_t first :
       {std::uint64_t{0}, std::uint64_t{0xFFFFFFF0u}, ~std::uint64_t{99}}) {
    std::vector<double> z(64);
    fill_normals(stream, first, z.size(), z.data());
    for (std::size_t i = 0; i < 32; ++i) {
      const base::Philox4 words = base::philox_block(stream, first + i);
      const double radius = std::sqrt(-2.0 * std::log(uniform(words.v[0], words.v[1])));
      const double angle = 2.0 * std::numbers::pi * uniform(words.v[2], words.v[3]);
      CHECK(std::abs(z[i] - radius * std::cos(angle)) < 1e-14);
      CHECK(std::abs(z[32 + i] - radius * std::sin(angle)) < 1e-14);
    }
  }
}

TEST_CASE("a number depends on its index alone") {
  std::vector<double> whole(256), part(32);
  fill_normals({3, 4}, 1000, whole.size(), whole.data());
  fill_normals({3, 4}, 1040, part.size(), part.data());
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(part[i] == whole[40 + i]);
    CHECK(part[16 + i] == whole[128 + 40 + i]);
  }
}

// Moments of 2^22 draws: sample moment k has variance (E z^2k - (E z^k)^2)/n.
TEST_CASE("normals have the moments and tails of N(0, 1)") {
  constexpr std::size_t count = 1 << 22;
  std::vector<double> z(count);
  fill_normals({42, 1}, 0, count, z.data());
  double sums[5] = {}, products = 0, beyond = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double power = 1.0;
    for (double& sum : sums) sum += power, power *= z[i];
    if (i < count / 2) products += z[i] * z[count / 2 + i];
    beyond += std::abs(z[i]) > 3.0;
  }
  const double n = count, root = std::sqrt(n);
  CHECK(std::abs(sums[1] / root) < 5.0);
  CHECK(std::abs((sums[2] / n - 1.0) * root / std::sqrt(2.0)) < 5.0);
  CHECK(std::abs(sums[3] / root / std::sqrt(15.0)) < 5.0);
  CHECK(std::abs((sums[4] / n - 3.0) * root / std::sqrt(96.0)) < 5.0);
  CHECK(std::abs(products / std::sqrt(n / 2.0)) < 5.0);
  const double rare = std::erfc(3.0 / std::numbers::sqrt2);
  CHECK(std::abs((beyond - n * rare) / std::sqrt(n * rare)) < 5.0);
}

TEST_CASE("joined tallies are the tally of all, in any cut") {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(1e8 + std::sin(i));
  const Tally all = tally(values);
  std::vector<Tally> parts;
  for (std::size_t i = 0; i < 1000; i += 40)
    parts.push_back(tally(std::span(values).subspan(i, 40)));
  const Tally joined = join(parts);
  CHECK(joined.count == 1000.0);
  // A unit in the last place of 1e8 is 1.5e-8; deviations are of order 1.
  CHECK(std::abs(joined.mean - all.mean) < 3e-8);
  CHECK(std::abs(joined.deviations / all.deviations - 1.0) < 1e-7);
  CHECK(join(Tally{}, all).mean == all.mean);
  CHECK(join(all, Tally{}).deviations == all.deviations);
  CHECK(join(std::span<const Tally>{}).count == 0.0);
}
