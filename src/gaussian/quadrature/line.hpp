#pragma once

#include <array>
#include <vector>

#include "gaussian/quadrature/profile.hpp"

/// A line through the plane of a Gaussian pair, in a standard normal coordinate z, cut into panels
/// on which the integrand is smooth at their own scale.
namespace scalecalc::gaussian::quadrature {

/// x = offset + slope z.
struct Track {
  double offset = 0, slope = 1;
  double parts = 0;  ///< the size of what the offset was added from: its rounding goes by that
};

/// One activation's input along the line, or two.
struct Line {
  std::array<Track, 2> tracks;
  std::size_t count = 1;

  std::array<double, 2> at(double z) const;
};

/// z within centre +- half, and x on each track. The x are kept beside z: near a feature far from
/// the mean they cannot be had from z without loss.
struct Panel {
  double centre = 0, half = 0;
  std::array<double, 2> x{};
  int depth = 0;

  Panel part(const Line& line, double shift, double new_half) const;
};

/// A place where panels end; next to it they are no wider than `width`, and wider with distance.
struct Anchor {
  double z = 0;
  std::array<double, 2> x{};
  double width = infinite;
  bool is_soft = false;            ///< the integrand is smooth here, too
  std::array<bool, 2> is_exact{};  ///< whether x was not computed from z
};

/// Softer features than this one, in z, need no panel of their own.
inline constexpr double half_a_panel = 1.6;

/// Sorted, each place once with the smallest of its widths; soft ones only where there is no other
/// within half their width.
void merge_anchors(std::vector<Anchor>& anchors);

/// Where the features of the activation lie on the line, between low and high, rising, both ends
/// included.
std::vector<Anchor> anchors(const Line& line, const Profile& profile, double low, double high);

/// Panels from the first anchor to the last, rising.
void fill(const Line& line, const std::vector<Anchor>& anchors, std::vector<Panel>& panels);

}  // namespace scalecalc::gaussian::quadrature
