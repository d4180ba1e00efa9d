#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weights/safetensors.hpp"

namespace scalecalc::audit_room {

/// How many values lie where, by sign, exponent and the upper bits of the mantissa. Values beyond
/// the exponents count at the ends.
class Histogram {
 public:
  /// Finite values.
  template <class Real>
  void add(const Real* values, std::size_t count);
  void add(const Histogram& other);

  /// The share below x; within a bin by a monotone cubic. Rounded values stand for the interval
  /// that is rounded to them. NaN without values.
  double share_below(double x, weights::Dtype dtype) const;

 private:
  static constexpr int mantissa_bits = 4, least_exponent = -40, octaves = 64;
  static constexpr std::size_t bins = static_cast<std::size_t>(octaves) << mantissa_bits;

  /// Values of that sign and a magnitude below `magnitude`, and all of that sign.
  double count_below(double magnitude, bool negative, weights::Dtype dtype) const;
  double count_all(bool negative) const;
  std::uint64_t count_in(std::size_t bin, bool negative) const;

  /// Bins of the positive, then of the negative. In turn, so that an increment need not wait for
  /// the one before it.
  std::array<std::array<std::uint64_t, 2 * bins>, 2> counts_ = {};
};

}  // namespace scalecalc::audit_room
