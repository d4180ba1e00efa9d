#pragma once

#include <utility>

#include "moments/image_profile.hpp"
#include "moments/norm_backward.hpp"

/// What norms make of the positions of an image (docs/theory/layers.md#image-borders): one over
/// features makes all of one size, one over samples divides all by the same.
namespace scalecalc::moments {

/// What the way back asks for.
struct NormPositions {
  Profile output;
  /// Of a norm over features, 1/s2 of each position beside that of their mean.
  Seldom<Eigen::ArrayXd> scales{};
};

/// Gives y, which is of the levelled x for a norm over features, its sizes.
inline NormPositions positions_through_norm(const Norm& layer, const Signal<Alike<double>>& x,
                                            const Profile& before, const Counts& counts,
                                            NormRecord<Alike<double>>& record,
                                            Signal<Alike<double>>& y) {
  NormPositions made;
  if (is_token_norm(layer.kind)) {
    const double mean = layer.kind == NormKind::layernorm ? x.x.mean : 0,
                 size = x.x.second - mean * mean;
    Eigen::ArrayXd by = (size + layer.eps) / (before->at * size + layer.eps);
    // A position of no size has no direction.
    if (by.allFinite()) {
      give_sizes(y, before->at * by, before->row * by.sqrt());
      made.scales = std::move(by);
      record.output = y.x;
    }
  } else if (record.over_samples) {
    y.profile = centred_profile(x.x, before, samples_of(record, counts));
  }
  made.output = y.profile;
  return made;
}

/// Of the gradient g at the output, `profile` of which has been taken out for a norm over features,
/// out is what comes back.
inline void positions_below_norm(const NormRecord<Alike<double>>& record,
                                 const NormPositions& positions, const Alike<double>& g,
                                 const Profile& profile, const Counts& counts,
                                 Gradient<Alike<double>>& out) {
  if (record.over_samples) {
    out.profile = centred_profile(g, profile, samples_of(record, counts));
    return;
  }
  if (!profile && !positions.scales) return;
  Eigen::ArrayXd sizes = sizes_of(profile, static_cast<std::int64_t>(counts.tokens));
  Eigen::ArrayXd rows = rows_of(profile, static_cast<std::int64_t>(counts.tokens));
  if (positions.scales) {
    sizes *= *positions.scales;
    rows *= positions.scales->sqrt();
  }
  give_sizes(out, sizes, rows);
}

/// along_output() of positions that differ in size.
template <class X>
X along_positions(const X& y, const NormPositions& positions, const Gradient<X>& g) {
  if constexpr (std::is_same_v<X, Alike<double>>) {
    if (positions.output && g.profile) {
      Gradient<X> with = g;
      with.x = product(g.x, together(positions.output, g.profile));
      return along_output(y, with);
    }
  }
  return along_output(y, g);
}

}  // namespace scalecalc::moments
