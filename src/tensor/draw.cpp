#include "tensor/draw.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/philox_lanes.hpp"
#include "tensor/inverse_normal.hpp"
#include "tensor/shaping.hpp"

namespace scalecalc::tensor {
namespace {

constexpr std::int64_t kChunk = 512;
constexpr std::int64_t kBlocks = kChunk / 2;

/// What values 2i and 2i + 1 are made of: words 0 and 1 of block i, and 2 and 3.
struct Words {
  std::array<std::uint64_t, kBlocks> even, odd;
};

/// base::philox_block of consecutive blocks.
void fill_words(const Stream& stream, std::uint64_t block, Words& words) {
  constexpr std::size_t kLanes = sizeof(base::Words) / sizeof(std::uint64_t);
  const base::Words id0 = base::all_words(stream.id), id1 = base::all_words(stream.id >> 32);
  for (std::size_t i = 0; i < kBlocks; i += kLanes) {
    base::Words counter;
    for (std::size_t lane = 0; lane < kLanes; ++lane) counter[lane] = block + i + lane;
    const base::WordLanes out = base::philox_lanes(counter, counter >> 32, id0, id1, stream.seed);
    const base::Words even = (out.w[1] << 32) | (out.w[0] & base::kLowHalf);
    const base::Words odd = (out.w[3] << 32) | (out.w[2] & base::kLowHalf);
    std::memcpy(&words.even[i], &even, sizeof even);
    std::memcpy(&words.odd[i], &odd, sizeof odd);
  }
}

/// base::uniform_from_words, its integer of 53 bits as the sum of two doubles: 2^84 with its high
/// half behind, and 2^52 with its low half. Every step is exact, and all vectorise without AVX-512.
double uniform_from_bits(std::uint64_t bits) {
  bits = bits >> 11 | 1u;
  const auto high = std::bit_cast<double>(bits >> 32 | 0x4530000000000000u);
  const auto low = std::bit_cast<double>((bits & 0xFFFFFFFFu) | 0x4330000000000000u);
  return ((high - 0x1.00000001p84) + low) * 0x1p-53;
}

/// kChunk values from block `block` on.
void uniform_chunk(const Stream& stream, std::uint64_t block, double* out) {
  Words words;
  fill_words(stream, block, words);
  for (std::int64_t i = 0; i < kBlocks; ++i) {
    out[2 * i] = uniform_from_bits(words.even[static_cast<std::size_t>(i)]);
    out[2 * i + 1] = uniform_from_bits(words.odd[static_cast<std::size_t>(i)]);
  }
}

/// The central formula everywhere, then the tails (15 %), gathered, by theirs.
void inverse_normal_chunk(std::int64_t count, double* values) {
  std::array<std::int32_t, kChunk> where;
  std::int64_t tails = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    where[tails] = static_cast<std::int32_t>(i);
    tails += std::fabs(values[i] - 0.5) > kCentralHalfWidth;
  }
  std::array<double, kChunk> outer, z;
  for (std::int64_t i = 0; i < tails; ++i) outer[i] = values[where[i]];
  for (std::int64_t i = 0; i < count; ++i) values[i] = normal_central(values[i] - 0.5);
  for (std::int64_t i = 0; i < tails; ++i) z[i] = normal_tail(std::min(outer[i], 1.0 - outer[i]));
  for (std::int64_t i = 0; i < tails; ++i) {
    const double tail = std::min(outer[i], 1.0 - outer[i]);
    if (tail < kFarTail) z[i] = normal_far_tail(tail);
    values[where[i]] = outer[i] > 0.5 ? z[i] : -z[i];
  }
}

/// Uniform values to drawn ones but for the factor, in place.
void shape_chunk(const Shaping& shaping, std::int64_t count, double* values) {
  if (shaping.offset != 0.0) {
    for (std::int64_t i = 0; i < count; ++i) {
      values[i] = shaping.offset + shaping.slope * values[i];
    }
  }
  if (shaping.normal) inverse_normal_chunk(count, values);
}

}  // namespace

std::uint64_t stream_id(std::string_view name, std::string_view suffix) {
  // FNV-1a, then the finaliser of splitmix64: names that differ in one character are far apart.
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const std::string_view part : {name, suffix}) {
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9u;
  hash = (hash ^ hash >> 27) * 0x94D049BB133111EBu;
  return hash ^ hash >> 31;
}

void fill_uniform(const Stream& stream, std::uint64_t first, std::int64_t count, double* out) {
  std::array<double, kChunk> chunk;
  const std::int64_t skip = static_cast<std::int64_t>(first % 2);
  for (std::int64_t done = -skip; done < count; done += kChunk) {
    uniform_chunk(stream, (first + static_cast<std::uint64_t>(done)) / 2, chunk.data());
    const std::int64_t from = std::max<std::int64_t>(done, 0), to = std::min(done + kChunk, count);
    std::copy(chunk.begin() + (from - done), chunk.begin() + (to - done), out + from);
  }
}

void inverse_normal(std::int64_t count, double* values) {
  for (std::int64_t i = 0; i < count; i += kChunk) {
    inverse_normal_chunk(std::min(kChunk, count - i), values + i);
  }
}

double inverse_normal(double p) {
  return inverse_normal_ieee(p);
}
double natural_log(double x) {
  return base::log_ieee(x);
}

template <class Real>
void fill(const Draw& draw, std::uint64_t first, std::int64_t count, Real* out) {
  const Shaping shaping = shaping_of(draw);
  std::array<double, kChunk> chunk;
  for (std::int64_t i = 0; i < count; i += kChunk) {
    uniform_chunk(draw.stream, (first + static_cast<std::uint64_t>(i)) / 2, chunk.data());
    const std::int64_t n = std::min(kChunk, count - i);
    shape_chunk(shaping, n, chunk.data());
    for (std::int64_t j = 0; j < n; ++j) {
      out[i + j] = static_cast<Real>(shaping.factor * chunk[j]);
    }
  }
}
template void fill<float>(const Draw&, std::uint64_t, std::int64_t, float*);
template void fill<double>(const Draw&, std::uint64_t, std::int64_t, double*);

void fill_indices(const Stream& stream, std::int64_t bound, std::int64_t count, std::int32_t* out) {
  std::array<double, kChunk> chunk;
  for (std::int64_t i = 0; i < count; i += kChunk) {
    uniform_chunk(stream, static_cast<std::uint64_t>(i) / 2, chunk.data());
    for (std::int64_t j = 0; j < std::min(kChunk, count - i); ++j) {
      // u < 1 and bound < 2^31, so that the product stays below bound after rounding.
      out[i + j] = static_cast<std::int32_t>(chunk[j] * static_cast<double>(bound));
    }
  }
}

}  // namespace scalecalc::tensor
