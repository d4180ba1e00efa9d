#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/host_device.hpp"

/// Counter-based random numbers: the same bits on every device and for any number of threads.
/// Only integer operations and the IEEE operations + - * / sqrt are used, none of them contracted,
/// so files that include this are compiled with -ffp-contract=off. Everything has internal linkage:
/// a file compiled with other flags can never lend its version to the library.
namespace scalecalc::base {

/// Names one sequence of draws; `id` says of what (see stream_id).
struct Stream {
  std::uint64_t seed = 0;
  std::uint64_t id = 0;
};

struct Philox4 {
  std::uint32_t v[4];
};

/// Philox-4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
SCALECALC_HOST_DEVICE static inline Philox4 philox(Philox4 counter, std::uint32_t key0,
                                                   std::uint32_t key1) {
  std::uint32_t c0 = counter.v[0], c1 = counter.v[1], c2 = counter.v[2], c3 = counter.v[3];
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * c0;
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ key0;
    c1 = static_cast<std::uint32_t>(b);
    c2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ key1;
    c3 = static_cast<std::uint32_t>(a);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// The four words of block `block` of a stream; value i of a stream uses words 2(i%2) of block i/2.
SCALECALC_HOST_DEVICE static inline Philox4 philox_block(const Stream& stream,
                                                         std::uint64_t block) {
  const Philox4 counter = {
      {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
       static_cast<std::uint32_t>(stream.id), static_cast<std::uint32_t>(stream.id >> 32)}};
  return philox(counter, static_cast<std::uint32_t>(stream.seed),
                static_cast<std::uint32_t>(stream.seed >> 32));
}

/// An odd multiple of 2^-53: never 0 or 1, symmetric about 1/2, and 1 - u is exact.
SCALECALC_HOST_DEVICE static inline double uniform_from_words(std::uint32_t low,
                                                              std::uint32_t high) {
  const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 11 | 1u;
  return static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-53;
}

/// ln x for a normal x > 0: x = 2^e m with m in [sqrt(1/2), sqrt(2)], ln m = 2 artanh((m-1)/(m+1)).
/// The series is cut where its next term, s^23/23 with s <= 0.1716, is below 2^-64.
SCALECALC_HOST_DEVICE static inline double log_ieee(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  // Adding the gap between sqrt(1/2) and 1/2 carries into the exponent when m would exceed sqrt(2).
  const std::uint64_t shifted = bits + (0x3FF0000000000000u - 0x3FE6A09E667F3BCDu);
  const std::int64_t exponent = static_cast<std::int64_t>(shifted >> 52) - 1023;
  const std::uint64_t mantissa_bits = bits - (static_cast<std::uint64_t>(exponent) << 52);
  double m;
  std::memcpy(&m, &mantissa_bits, sizeof m);
  const double e = static_cast<double>(exponent);
  const double s = (m - 1.0) / (m + 1.0);
  const double s2 = s * s;
  double series = 1.0 / 21.0;
  series = series * s2 + 1.0 / 19.0;
  series = series * s2 + 1.0 / 17.0;
  series = series * s2 + 1.0 / 15.0;
  series = series * s2 + 1.0 / 13.0;
  series = series * s2 + 1.0 / 11.0;
  series = series * s2 + 1.0 / 9.0;
  series = series * s2 + 1.0 / 7.0;
  series = series * s2 + 1.0 / 5.0;
  series = series * s2 + 1.0 / 3.0;
  const double log_m = 2.0 * s + 2.0 * s * s2 * series;
  // ln 2 in two parts, the first with 21 zero bits at its end, so that e times it is exact.
  return e * 0x1.62e42feep-1 + (e * 0x1.a39ef35793c76p-33 + log_m);
}

}  // namespace scalecalc::base
