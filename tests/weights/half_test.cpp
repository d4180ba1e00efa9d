#include "weights/half.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace scalecalc;

namespace {

/// By the definition of binary16, in double.
double half_by_definition(unsigned bits) {
  const double sign = bits & 0x8000u ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 31u);
  const double fraction = (bits & 0x3FFu) / 1024.0;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -14);
  return sign * std::ldexp(1 + fraction, exponent - 15);
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

}  // namespace

TEST_CASE("every 16-bit number has the value of its definition, and comes back") {
  int wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float half = float_from_half(static_cast<std::uint16_t>(bits));
    const float bfloat = float_from_bfloat(static_cast<std::uint16_t>(bits));
    wrong += same(half, half_by_definition(bits)) ? 0 : 1;
    wrong += std::isnan(half) || half_from_float(half) == bits ? 0 : 1;
    wrong += std::isnan(bfloat) || bfloat_from_float(bfloat) == bits ? 0 : 1;
    wrong += std::isnan(half) == std::isnan(float_from_half(half_from_float(half))) ? 0 : 1;
    wrong += std::isnan(bfloat) == std::isnan(float_from_bfloat(bfloat_from_float(bfloat))) ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(float_from_bfloat(0x3F80) == 1.0f);
  CHECK(float_from_bfloat(0xC049) == -3.140625f);
}

TEST_CASE("what lies between two 16-bit numbers goes to the nearer, halfway to the even one") {
  int wrong = 0;
  for (unsigned bits = 0; bits < 0x7BFF; ++bits) {
    const double low = half_by_definition(bits), high = half_by_definition(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);
    const unsigned even = bits % 2 == 0 ? bits : bits + 1;
    wrong += half_from_float(middle) == even ? 0 : 1;
    wrong += half_from_float(std::nextafter(middle, 0.0f)) == bits ? 0 : 1;
    wrong += half_from_float(std::nextafter(middle, INFINITY)) == bits + 1 ? 0 : 1;
    wrong += half_from_float(-middle) == (even | 0x8000u) ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(half_from_float(65519.996f) == 0x7BFF);
  CHECK(half_from_float(65520.0f) == 0x7C00);
  CHECK(half_from_float(1e38f) == 0x7C00);
  CHECK(bfloat_from_float(1.00390625f) == 0x3F80);  // halfway between 1 and 1 + 2^-7
  CHECK(bfloat_from_float(1.01171875f) == 0x3F82);
  CHECK(bfloat_from_float(3.4e38f) == 0x7F80);
}
