#include "gaussian/quadrature/pair_frame.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::gaussian::quadrature {
namespace {

/// Two features meet softly if either is soft.
double joint_width(double a, double b) {
  if (a == infinite) return b;
  return b == infinite ? a : std::max(a, b);
}

}  // namespace

PairFrame::PairFrame(double mean, double variance, double angle, bool mirrored)
    : mean_(mean), even_across_(!mirrored) {
  const double std = std::sqrt(variance);
  wide_ = std * std::cos(angle / 2);
  narrow_ = std * std::sin(angle / 2);
}

PairFrame::PairFrame(const GaussianInput& input)
    : mean_(input.mean), even_across_(*input.correlation >= 0) {
  const double std = std::sqrt(input.variance), c = std::fabs(*input.correlation);
  wide_ = std * std::sqrt((1 + c) / 2);
  narrow_ = std * std::sqrt((1 - c) / 2);
}

Line PairFrame::line(double y) const {
  Line line;
  line.count = 2;
  const double parts = std::fabs(mean_) + std::fabs(narrow_ * y);
  line.tracks[0] = {mean_ + narrow_ * y, wide_, parts};
  line.tracks[1] = even_across_ ? Track{mean_ - narrow_ * y, wide_, parts}
                                : Track{mean_ + narrow_ * y, -wide_, parts};
  return line;
}

std::vector<Anchor> PairFrame::crossings(const Profile& profile, double low, double high) const {
  std::vector<Anchor> result = {{low}, {high}};
  for (const Feature& a : profile.features) {
    if (narrow_ == 0) break;
    for (const Feature& b : profile.features) {
      const double place = even_across_ ? (a.at - b.at) / 2 : (a.at + b.at) / 2 - mean_;
      const double y = place / narrow_, width = joint_width(a.width, b.width) / narrow_;
      const bool is_soft = !(a.is_break && b.is_break);
      if (y >= low && y <= high && !(is_soft && width > half_a_panel)) {
        result.push_back({y, {}, width, is_soft && y > low && y < high});
      }
    }
  }
  merge_anchors(result);
  return result;
}

}  // namespace scalecalc::gaussian::quadrature
