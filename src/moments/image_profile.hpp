#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "moments/state.hpp"
#include "moments/width_moments.hpp"
#include "scalecalc/gaussian.hpp"
#include "scalecalc/network.hpp"

/// How squares are shared between the positions of an image: those near a border that is padded
/// with zeros have less of them (docs/theory/layers.md#image-borders). A state has averages over
/// positions and over pairs; E x_i^2 = p_i m, and E x_i x_j = c m v_i v_j.
namespace scalecalc::moments {

/// Whether a layer of this network reads windows of an image, of which those of neighbours have
/// most in common: positions are no samples that know nothing of each other.
bool reads_windows(const Network& network);

struct PositionSizes {
  Eigen::ArrayXd at;   ///< p_i = E x_i^2 over its mean, position by position, row by row
  Eigen::ArrayXd row;  ///< v_i, where the mean of v_i/p_i^(1/2) is 1
  double mean = 1;     ///< of p_i^(1/2)
  double within = 1;   ///< of v_i v_j, i and j different
  double between = 1;  ///< of v_i v_j, of two images
};
/// Empty: positions are alike.
using Profile = std::shared_ptr<const PositionSizes>;

/// Past it positions are taken to be alike: borders are under 1% of such an image.
inline constexpr std::int64_t most_positions = 1 << 16;

/// Of p and v up to a factor each; v = p^(1/2) where none are given or they are no positive ones.
/// Empty where positions are alike, to rounding, or have no sizes.
Profile make_profile(const Eigen::ArrayXd& sizes);
Profile make_profile(const Eigen::ArrayXd& sizes, const Eigen::ArrayXd& rows);

/// Ones where it is empty.
Eigen::ArrayXd sizes_of(const Profile& profile, std::int64_t positions);
Eigen::ArrayXd rows_of(const Profile& profile, std::int64_t positions);
/// E x_i x_j averaged over all j of a state of these levelled averages, that of one image where it
/// is not 0.
Eigen::ArrayXd pairs_of(const Alike<double>& x, const Profile& profile, std::int64_t positions);

/// x_i g_i x_j g_j averaged beside the products of the averages of x and g, of one position and of
/// pairs (docs/theory/layers.md#image-borders).
Alike<double> together(const Profile& x, const Profile& g);

/// Of a state about its mean over so many images' positions, what each position has.
Profile centred_profile(const Alike<double>& x, const Profile& profile, const Counts& over);

/// Of a sum of two states; what it has beside the squares of both goes as their roots.
Profile profile_of_sum(const Profile& of_x, const Alike<double>& x, const Profile& of_y,
                       const Alike<double>& y, const Alike<double>& sum);

/// v_i/p_i^(1/2): the correlation of a position's pairs beside the mean of all.
Eigen::ArrayXd own_correlations(const PositionSizes& profile);

/// f(s) at each of these s, f smooth in s.
Eigen::ArrayXd at_sizes(const Eigen::ArrayXd& roots, const std::function<double(double)>& f);

/// Whether states of this kind have profiles.
template <class C, class X>
constexpr bool has_profiles = C::next_orders&& std::is_same_v<X, Alike<double>>;

/// Of averages over positions, the state that all of them would have at the same c and the same
/// mean of squares.
inline Alike<double> levelled(const Alike<double>& x, const Profile& profile) {
  if (!profile) return x;
  const auto over = [](double value, double by) { return by > 0 ? value / by : 0; };
  return {over(x.mean, profile->mean), x.second, over(x.cross, profile->within),
          over(x.between, profile->between)};
}
inline Alike<double> unlevelled(const Alike<double>& x, const Profile& profile) {
  if (!profile) return x;
  return {x.mean * profile->mean, x.second, x.cross * profile->within,
          x.between * profile->between};
}

/// Takes the profile out of a signal or a gradient, which is as levelled() then.
template <class S>
Profile take_profile(S& s) {
  Profile profile = std::move(s.profile);
  s.profile = nullptr;
  if constexpr (std::is_same_v<decltype(s.x), Alike<double>>) s.x = levelled(s.x, profile);
  return profile;
}
/// Of levelled averages at the mean of squares: position i has `sizes`[i] of them, and of its pairs
/// a part that goes as `rows`[i].
template <class S>
void give_sizes(S& s, const Eigen::ArrayXd& sizes, const Eigen::ArrayXd& rows) {
  if constexpr (std::is_same_v<decltype(s.x), Alike<double>>) {
    const double mean = sizes.mean();
    s.profile = make_profile(sizes, rows);
    const Alike<double> x{s.x.mean * std::sqrt(mean), s.x.second * mean, s.x.cross * mean,
                          s.x.between * mean};
    s.x = unlevelled(x, s.profile);
  }
}

/// What an activation makes of p and v, of its values and of a gradient by its slopes, beside what
/// it makes of their means.
struct ProfileThrough {
  Profile input;
  Eigen::ArrayXd values, slopes;
  Eigen::ArrayXd value_rows, slope_rows;
};
template <class C>
ProfileThrough profile_through(C& calculus, const typename C::Function& phi, const Alike<double>& u,
                               Profile input) {
  const double square = u.mean * u.mean, variance = u.second - square;
  const auto beside = [](double of, double all) { return all > 0 ? of / all : 1; };
  const auto at = [&](double size) {
    return calculus.sizes(phi, size * u.mean, size * size * variance);
  };
  const SizeMoments one = at(1);
  const Eigen::ArrayXd roots = input->at.sqrt();
  Eigen::ArrayXd values =
      at_sizes(roots, [&](double size) { return beside(at(size).second, one.second); });
  Eigen::ArrayXd slopes =
      at_sizes(roots, [&](double size) { return beside(at(size).slope, one.slope); });
  // A position whose pairs have w times the correlation of the mean.
  const Token<double> token{u.mean, u.second};
  const auto pairs = [&](Moment moment, const Eigen::ArrayXd& sizes) {
    const auto of = [&](double w) {
      const double cross = std::clamp((u.cross - square) * w, -variance, variance);
      return calculus.pair(phi, moment, token, token, square + cross);
    };
    const double mean = of(1);
    return Eigen::ArrayXd(sizes.sqrt() * at_sizes(own_correlations(*input), [&](double w) {
                            return mean > 0 ? of(w) / mean : 1.0;
                          }));
  };
  Eigen::ArrayXd value_rows = pairs(Moment::cross, values),
                 slope_rows = pairs(Moment::slope_cross, slopes);
  return {std::move(input), std::move(values), std::move(slopes), std::move(value_rows),
          std::move(slope_rows)};
}

}  // namespace scalecalc::moments
