#include "gaussian/monte_carlo/normals.hpp"

#include <numbers>

#include "base/philox_lanes.hpp"

namespace scalecalc::gaussian::monte_carlo {
namespace {

namespace vm = base::vector_math;
using base::all_words;
using base::kLowHalf;
using base::Words;
using vm::Int;
using vm::Real;

constexpr std::int64_t kRootHalf = 0x3FE6A09E667F3BCD;  ///< the bits of sqrt(1/2)
[[maybe_unused]] constexpr std::uint8_t kAllLanes = 0xFF;

/// 52 bits and a half, times 2^-52: inside (0, 1), symmetric about 1/2.
Real uniform(const Words& low, const Words& high) {
  const Words bits = ((high << 32) | (low & kLowHalf)) >> 12 | 0x3FF0000000000000u;
  return vm::from_bits(reinterpret_cast<Int>(bits)) - (1.0 - 0x1p-53);
}

/// -2 ln u for a normal u in (0, 1): no ends to look after.
Real minus_two_log(const Real& u) {
  const Int pattern = vm::bits(u), exponent = (pattern - kRootHalf) >> 52;
  const Real mantissa = vm::from_bits(pattern - (exponent << 52));
  const Real count =
      vm::from_bits(exponent + vm::bits(vm::all(vm::rounding_shift))) - vm::rounding_shift;
  return -2.0 * vm::detail::logarithm({mantissa, count}, Real{});
}

struct Direction {
  Real cosine, sine;
};
/// Of 2 pi u for u in (0, 1): 4u = n + rest exactly.
Direction direction(const Real& u) {
  const Real quarters = 4.0 * u;
  const vm::Rounded n = vm::round_to_integer(quarters);
  const Real angle = (quarters - n.value) * (std::numbers::pi / 2);
  const vm::detail::Wave at = vm::detail::wave(angle, Real{});
  const Int odd = (n.integer & 1) != 0;
  const Real c = odd ? at.sine : at.cosine, s = odd ? at.cosine : at.sine;
  const Int turned = ((n.integer + 1) & 2) != 0, down = (n.integer & 2) != 0;
  return {turned ? -c : c, down ? -s : s};
}

Real square_root(const Real& x) {
#if defined(__AVX512F__)
  return reinterpret_cast<Real>(_mm512_maskz_sqrt_pd(kAllLanes, reinterpret_cast<__m512d>(x)));
#else
  Real root;
  for (std::size_t k = 0; k < vm::lanes; ++k) root[k] = __builtin_sqrt(x[k]);
  return root;
#endif
}

}  // namespace

void fill_normals(const base::Stream& stream, std::uint64_t first, std::size_t count, double* out) {
  const std::size_t half = count / 2;
  Words index{};
  for (std::size_t k = 0; k < vm::lanes; ++k) index[k] = first + k;
  const Words id0 = all_words(stream.id & kLowHalf), id1 = all_words(stream.id >> 32);
  for (std::size_t i = 0; i < half; i += vm::lanes) {
    const base::WordLanes words = base::philox_lanes(index, index >> 32, id0, id1, stream.seed);
    const Real radius = square_root(minus_two_log(uniform(words.w[0], words.w[1])));
    const Direction at = direction(uniform(words.w[2], words.w[3]));
    vm::store(radius * at.cosine, out + i);
    vm::store(radius * at.sine, out + half + i);
    index += vm::lanes;
  }
}

}  // namespace scalecalc::gaussian::monte_carlo
