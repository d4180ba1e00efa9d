#include "tensor/draw.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "tensor/inverse_normal.hpp"
#include "tensor/shaping.hpp"

namespace scalecalc::tensor {
namespace {

constexpr std::int64_t kChunk = 512;
constexpr std::int64_t kBlocks = kChunk / 2;

/// Words of consecutive blocks, as separate arrays so that the loops over blocks vectorise.
struct Words {
  std::array<std::uint32_t, kBlocks> w0, w1, w2, w3;
};

void fill_words(const Stream& stream, std::uint64_t block, Words& words) {
  for (std::int64_t i = 0; i < kBlocks; ++i) {
    const base::Philox4 out = base::philox_block(stream, block + static_cast<std::uint64_t>(i));
    words.w0[i] = out.v[0];
    words.w1[i] = out.v[1];
    words.w2[i] = out.v[2];
    words.w3[i] = out.v[3];
  }
}

/// kChunk values from block `block` on.
void uniform_chunk(const Stream& stream, std::uint64_t block, double* out) {
  Words words;
  fill_words(stream, block, words);
  for (std::int64_t i = 0; i < kBlocks; ++i) {
    out[2 * i] = base::uniform_from_words(words.w0[i], words.w1[i]);
    out[2 * i + 1] = base::uniform_from_words(words.w2[i], words.w3[i]);
  }
}

/// The central formula everywhere, then the tails (15 %), gathered, by theirs.
void inverse_normal_chunk(std::int64_t count, double* values) {
  std::array<double, kChunk> tail;
  std::array<std::int32_t, kChunk> where;
  std::array<bool, kChunk> upper;
  std::int64_t tails = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double p = values[i], q = p - 0.5;
    tail[tails] = std::min(p, 1.0 - p);
    upper[tails] = q > 0.0;
    where[tails] = static_cast<std::int32_t>(i);
    tails += std::fabs(q) > kCentralHalfWidth;
  }
  for (std::int64_t i = 0; i < count; ++i) values[i] = normal_central(values[i] - 0.5);
  std::array<double, kChunk> z;
  for (std::int64_t i = 0; i < tails; ++i) z[i] = normal_tail(tail[i]);
  for (std::int64_t i = 0; i < tails; ++i) {
    if (tail[i] < kFarTail) z[i] = normal_far_tail(tail[i]);
    values[where[i]] = upper[i] ? z[i] : -z[i];
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
