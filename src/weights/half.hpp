#pragma once

#include <bit>
#include <cstdint>

/// 16-bit floating point and back, without branches so that loops over them are vectorised.
/// Internal linkage: rooms are compiled for different processors.
namespace scalecalc {

/// The value of an IEEE binary16. The exponent is rebiased by 112; subnormal numbers are made
/// normal by adding 2^-14 as an implicit one and taking it away again.
static inline float float_from_half(std::uint16_t half) {
  constexpr std::uint32_t infinite = 0x1Fu << 23;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(half & 0x7FFFu) << 13;
  const std::uint32_t exponent = magnitude & infinite;
  const std::uint32_t rebias = exponent == infinite ? 224u << 23 : 112u << 23;
  const float normal = std::bit_cast<float>(magnitude + rebias);
  const float subnormal = std::bit_cast<float>(magnitude + (113u << 23)) - 0x1p-14f;
  const float value = exponent == 0 ? subnormal : normal;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) |
                              static_cast<std::uint32_t>(half & 0x8000u) << 16);
}

/// The value of a bfloat16: the upper half of a float.
static inline float float_from_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// To the nearest, ties to even; too large is infinite. A NaN stays one.
static inline std::uint16_t half_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u);
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7C00u);
  // Below 2^-14 the sum with 1/2 has the spacing 2^-24 of subnormal numbers, so it rounds there.
  if (magnitude < 0x38800000u) {
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(
        sign | (std::bit_cast<std::uint32_t>(rounded) - std::bit_cast<std::uint32_t>(0.5f)));
  }
  const std::uint32_t odd = magnitude >> 13 & 1u;
  return static_cast<std::uint16_t>(sign | (magnitude - (112u << 23) + 0xFFFu + odd) >> 13);
}

/// To the nearest, ties to even. A NaN stays one.
static inline std::uint16_t bfloat_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace scalecalc
