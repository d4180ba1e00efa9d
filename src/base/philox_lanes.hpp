#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "base/vector_math.hpp"

/// Philox of several counters at once, for files that are compiled for one processor.
namespace scalecalc::base {
inline namespace SCALECALC_LANES_NAMESPACE {

using Words = std::uint64_t __attribute__((vector_size(8 * SCALECALC_LANES)));
static constexpr std::uint64_t kLowHalf = 0xFFFFFFFFu;

/// a b for the low halves of each lane. Said in the machine's own words, since GCC multiplies all
/// 64 bits otherwise.
static inline Words multiply_halves(const Words& a, const Words& b) {
#if defined(__AVX512F__)
  // The form with a mask: GCC 12 warns of an uninitialised value inside the plain one.
  constexpr std::uint8_t kAllLanes = 0xFF;
  return reinterpret_cast<Words>(_mm512_maskz_mul_epu32(kAllLanes, reinterpret_cast<__m512i>(a),
                                                        reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Words>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
  return (a & kLowHalf) * (b & kLowHalf);
#endif
}

static inline Words all_words(std::uint64_t value) {
  return Words{} + value;
}

/// Philox-4x32-10 of several counters, as philox() in philox.hpp. The upper halves of the lanes
/// hold rubbish, which the multiplications do not see.
struct WordLanes {
  Words w[4];
};
static inline WordLanes philox_lanes(Words c0, Words c1, Words c2, Words c3, std::uint64_t seed) {
  const Words first = all_words(0xD2511F53u), second = all_words(0xCD9E8D57u);
  std::uint32_t key0 = static_cast<std::uint32_t>(seed);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const Words a = multiply_halves(first, c0), b = multiply_halves(second, c2);
    c0 = (b >> 32) ^ c1 ^ key0;
    c1 = b;
    c2 = (a >> 32) ^ c3 ^ key1;
    c3 = a;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace SCALECALC_LANES_NAMESPACE
}  // namespace scalecalc::base
