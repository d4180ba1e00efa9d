#pragma once

#include "gaussian/quadrature/line.hpp"

/// Where along a line an integrand counts: outside it is below 1e-19 of its largest value, and of
/// its integral, which is much smaller for a narrow peak with wide tails.
namespace scalecalc::gaussian::quadrature {

struct Window {
  double low = 0, high = 0;
  bool is_empty = true;     ///< nothing above the smallest number there is
  bool is_resolved = true;  ///< false when the integrand overflows, or still counts at the ends
};

/// The sizes of integrands at rising places.
class Extent {
 public:
  Extent(std::size_t channels, std::size_t places) : size_(places), values_(channels * places) {}
  double& operator()(std::size_t channel, std::size_t place) {
    return values_[channel * size_ + place];
  }
  /// Where any of them is above 1e-19 of its own scale, or of `scale` if that is given, and
  /// `margin` more.
  Window window(const std::vector<double>& z, double margin, double scale = 0) const;
  double largest(std::size_t channel = 0) const;
  /// The integral, roughly.
  double mass(const std::vector<double>& z, std::size_t channel = 0) const;

 private:
  std::size_t size_;
  std::vector<double> values_;
};

/// For phi, phi^2, phi', phi'^2 and phi^4 together.
Window moment_window(const Profile& profile, const Line& line);

/// Places to look at: a grid up to |z| = 39, where the density underflows, and around features.
std::vector<double> probes(const Line& line, const Profile& profile, double step);

}  // namespace scalecalc::gaussian::quadrature
