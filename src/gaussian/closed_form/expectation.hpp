#pragma once

#include <map>
#include <memory>
#include <vector>

#include "gaussian/closed_form/terms.hpp"

namespace scalecalc::gaussian {

/// sqrt(root) exp(exponent) kernel: what a rational function may multiply. The root is a
/// square-free polynomial without numeric factor, the kernel has no rational coefficient.
struct Kernel {
  Polynomial root = 1;
  Ratio exponent;
  Expr kernel = 1;
  friend bool operator<(const Kernel& a, const Kernel& b);
};

/// A sum of kernels with rational functions before them.
class Sum {
 public:
  Sum() = default;
  Sum(const Ratio& value);
  Sum(std::int64_t value) : Sum(Ratio(value)) {}
  Sum(const Rational& value) : Sum(Ratio(value)) {}
  /// coefficient * sqrt(radicand) exp(exponent) kernel for any of these.
  static Sum of(const Ratio& coefficient, const Ratio& radicand, const Ratio& exponent,
                const Expr& kernel);

  const std::map<Kernel, Ratio>& parts() const { return parts_; }
  Sum& operator+=(const Sum& other);
  friend Sum operator+(Sum a, const Sum& b) { return a += b; }
  friend Sum operator*(const Sum& a, const Sum& b);

 private:
  void add(const Kernel& kernel, const Ratio& coefficient);
  std::map<Kernel, Ratio> parts_;
};

/// The sum as a formula, in the shorter of several arrangements.
Expr formula(const Ring& ring, const Sum& sum);

/// The distribution of (u, v): both N(mean, variance), with covariance `covariance`.
struct Pair {
  Ratio mean, variance, covariance;
};

/// E of all terms. Throws NoForm, saying what stands in the way.
Sum expectation(const Ring& ring, const Pair& pair, const Terms& terms);

}  // namespace scalecalc::gaussian
