#pragma once

#include <cmath>
#include <string>

#include "scalecalc/error.hpp"

namespace scalecalc {

/// A bound on an error, a truncation or a variance: at least 0, infinity included. It reads as a
/// double. Making one of a negative number or of NaN throws Error(fault): a band that a wrong sign
/// narrows would pass for a better prediction.
class NonNegative {
 public:
  constexpr NonNegative() = default;
  // Converts both ways, so that arithmetic is that of double and every result is checked.
  constexpr NonNegative(double value) : value_(value) {
    if (!(value >= 0)) refuse(value);
  }
  constexpr operator double() const { return value_; }

  NonNegative& operator+=(NonNegative more) {
    value_ += more.value_;
    return *this;
  }
  /// The bound of factor * x, where this is the bound of x: the sign of the factor has no part in
  /// it.
  NonNegative& operator*=(double factor) { return *this = std::fabs(factor) * value_; }

 private:
  [[noreturn]] static void refuse(double value) {
    throw Error(ErrorKind::fault,
                "a bound or a variance came out as " + std::to_string(value) + ", below 0", "",
                "this is a defect of scalecalc");
  }
  double value_ = 0;
};

}  // namespace scalecalc
