#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "gaussian/quadrature/profile.hpp"
#include "scalecalc/gaussian.hpp"

namespace scalecalc::gaussian::quadrature {

/// Of `all` terms of a series in 0 <= c <= 1, those beyond which the others are less than 1e-18 c^4
/// of it.
std::size_t series_terms_at(double c, std::size_t all);

/// E f(u) f(v) = sum a_n^2 c^n with a_n = E[f(u) He_n(z)]/sqrt(n!) (Mehler). The terms that are not
/// there are bounded by Parseval: their a_n^2 add up to E f^2 minus the others.
class HermiteSeries {
 public:
  /// f is phi or phi'. Nothing when doubles cannot hold the integrand.
  static std::optional<HermiteSeries> make(const Profile& profile, bool slope, double mean,
                                           double variance, std::size_t terms);

  /// A step at 0 between two values.
  static HermiteSeries step(const std::array<double, 2>& sides, std::size_t terms);

  Estimate operator()(double correlation) const;
  double derivative(double correlation) const;
  /// A bound of the error at this correlation and at smaller ones.
  double error(double correlation) const;
  double second() const { return second_; }
  const std::vector<double>& squares() const { return squares_; }

 private:
  std::vector<double> squares_, errors_;
  double second_ = 0, rest_ = 0;
};

}  // namespace scalecalc::gaussian::quadrature
