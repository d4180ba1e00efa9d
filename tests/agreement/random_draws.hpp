#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "scalecalc/network.hpp"

namespace scalecalc::random_models {

/// Draws that depend on (seed, index) alone: the standard fixes the bits of the generator and of
/// the seeding, but not those of its distributions.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t index) : bits_(seeded(seed, index)) {}

  /// Draws of their own that follow from those so far and change none of those to come: what is
  /// added to a kind of model leaves the others as they were.
  Draws apart() const {
    Draws other = *this;
    other.bits_.seed(~other.bits_());
    return other;
  }

  /// At least 0 and below `count`.
  std::size_t below(std::size_t count) {
    const double unit = std::ldexp(static_cast<double>(bits_() >> 11), -53);
    return static_cast<std::size_t>(unit * static_cast<double>(count));
  }
  /// Inclusive.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(high - low + 1)));
  }
  /// True `percent` times of 100.
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }

  template <class Value>
  Value of(std::initializer_list<Value> values) {
    return values.begin()[below(values.size())];
  }
  template <class Value>
  const Value& of(const std::vector<Value>& values) {
    return values[below(values.size())];
  }

 private:
  static std::mt19937_64 seeded(std::uint64_t seed, std::uint64_t index) {
    std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                        static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)};
    return std::mt19937_64(words);
  }

  std::mt19937_64 bits_;
};

/// A head that reads the last token, and one whose classes are not the words.
void draw_last(Draws draw, ModelSpec& spec);

}  // namespace scalecalc::random_models
