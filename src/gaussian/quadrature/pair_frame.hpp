#pragma once

#include "gaussian/quadrature/line.hpp"
#include "scalecalc/gaussian.hpp"

/// A pair (u, v) of correlation c in the coordinates u + v and u - v, both standard normal and
/// independent: u, v = mean + std (a sqrt((1+c)/2) +- b sqrt((1-c)/2)). Lines run along the wider
/// direction; where u or v is at a break they are cut exactly, so that |c| near 1 needs nothing
/// special.
namespace scalecalc::gaussian::quadrature {

class PairFrame {
 public:
  /// correlation = cos(angle), or -cos(angle) when mirrored; angle <= pi/2
  PairFrame(double mean, double variance, double angle, bool mirrored);
  explicit PairFrame(const GaussianInput& input);
  /// The line at one value of the narrow coordinate.
  Line line(double y) const;
  /// The integrand is even in the narrow coordinate (c >= 0), or along every line (c < 0).
  bool is_even_across() const { return even_across_; }
  /// Where breaks and features of u and v meet, in the narrow coordinate.
  std::vector<Anchor> crossings(const Profile& profile, double low, double high) const;

 private:
  double mean_, wide_, narrow_;
  bool even_across_;
};

}  // namespace scalecalc::gaussian::quadrature
