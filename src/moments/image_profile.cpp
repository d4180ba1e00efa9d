#include "moments/image_profile.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numbers>
#include <type_traits>

#include "network/layers/walk.hpp"

namespace scalecalc::moments {
namespace {

/// To rounding.
bool alike(const Eigen::ArrayXd& x) {
  constexpr double rounding = 1e-12;
  return x.maxCoeff() - x.minCoeff() <= rounding * x.abs().maxCoeff();
}

}  // namespace

bool reads_windows(const Network& network) {
  bool found = false;
  for_each_layer(network.layers, [&](const auto& layer) {
    if constexpr (std::is_same_v<std::decay_t<decltype(layer)>, Conv2d>)
      found = found || layer.taps() > 1;
  });
  return found;
}

Profile make_profile(const Eigen::ArrayXd& sizes) {
  return make_profile(sizes, sizes.max(0.0).sqrt());
}

Profile make_profile(const Eigen::ArrayXd& sizes, const Eigen::ArrayXd& rows) {
  const double mean = sizes.size() > 0 ? sizes.mean() : 0;
  if (!(mean > 0) || !std::isfinite(mean)) return nullptr;
  const bool has_rows = rows.isFinite().all() && rows.minCoeff() >= 0 && rows.maxCoeff() > 0;
  if (alike(sizes) && (!has_rows || alike(rows))) return nullptr;
  auto made = std::make_shared<PositionSizes>();
  made->at = sizes.max(0.0) / mean;
  made->mean = made->at.sqrt().mean();
  made->row = has_rows ? rows : Eigen::ArrayXd(made->at.sqrt());
  made->row /= own_correlations(*made).mean();
  const double count = static_cast<double>(sizes.size()), all = made->row.sum();
  made->between = all * all / (count * count);
  // Of one position that has all there is rounding of either sign.
  made->within = std::max(0.0, (all * all - made->row.square().sum()) / (count * (count - 1)));
  return made;
}

Eigen::ArrayXd own_correlations(const PositionSizes& profile) {
  return profile.row.binaryExpr(profile.at,
                                [](double v, double p) { return p > 0 ? v / std::sqrt(p) : 1.0; });
}

Eigen::ArrayXd sizes_of(const Profile& profile, std::int64_t positions) {
  if (profile) return profile->at;
  return Eigen::ArrayXd::Ones(static_cast<Eigen::Index>(positions));
}

Eigen::ArrayXd rows_of(const Profile& profile, std::int64_t positions) {
  if (profile) return profile->row;
  return Eigen::ArrayXd::Ones(static_cast<Eigen::Index>(positions));
}

Eigen::ArrayXd pairs_of(const Alike<double>& x, const Profile& profile, std::int64_t positions) {
  const Alike<double> one = levelled(x, profile);
  const Eigen::ArrayXd rows = rows_of(profile, positions);
  return (one.cross != 0 ? one.cross : one.between) * rows.mean() * rows;
}

Alike<double> together(const Profile& x, const Profile& g) {
  if (!x || !g) return {1, 1, 1, 1};
  const Eigen::ArrayXd rows = x->row * g->row;
  const double count = static_cast<double>(rows.size()), all = rows.sum();
  const auto over = [](double value, double by) { return by > 0 ? value / by : 0; };
  return {1, (x->at * g->at).mean(),
          over(std::max(0.0, (all * all - rows.square().sum()) / (count * (count - 1))),
               x->within * g->within),
          over(all * all / (count * count), x->between * g->between)};
}

Profile centred_profile(const Alike<double>& x, const Profile& profile, const Counts& over) {
  if (!profile) return profile;
  const Alike<double> one = levelled(x, profile);
  const Eigen::ArrayXd& rows = profile->row;
  const double all = rows.sum();
  // Of position i with all samples, itself included.
  const Eigen::ArrayXd with_all = (profile->at * one.second + rows * (all - rows) * one.cross +
                                   (over.batch - 1) * all * rows * one.between) /
                                  over.samples();
  return make_profile((profile->at * one.second - 2 * with_all + with_all.mean()).max(0.0));
}

Profile profile_of_sum(const Profile& of_x, const Alike<double>& x, const Profile& of_y,
                       const Alike<double>& y, const Alike<double>& sum) {
  if (!of_x && !of_y) return nullptr;
  const std::int64_t positions = of_x ? of_x->at.size() : of_y->at.size();
  const Eigen::ArrayXd p = sizes_of(of_x, positions), q = sizes_of(of_y, positions),
                       both = (p * q).sqrt() / (p * q).sqrt().mean(), root = both.sqrt();
  const Eigen::ArrayXd rows = pairs_of(x, of_x, positions) + pairs_of(y, of_y, positions) +
                              (sum.cross - x.cross - y.cross) * root / root.mean();
  return make_profile(
      (x.second * p + y.second * q + (sum.second - x.second - y.second) * both).max(0.0), rows);
}

Eigen::ArrayXd at_sizes(const Eigen::ArrayXd& roots, const std::function<double(double)>& f) {
  constexpr std::size_t nodes = 7;
  const double low = roots.minCoeff(), high = roots.maxCoeff();
  const double middle = (low + high) / 2, reach = (high - low) / 2;
  // Nodes that rounding makes one divide 0 by 0.
  if (alike(roots)) return Eigen::ArrayXd::Constant(roots.size(), f(middle));
  // Lagrange's polynomial at the extrema of Chebyshev's: exact for homogeneous functions.
  std::array<double, nodes> at{}, value{}, weight{};
  for (std::size_t k = 0; k < nodes; ++k) {
    at[k] = middle + reach * std::cos(std::numbers::pi * static_cast<double>(k) / (nodes - 1));
    value[k] = f(at[k]);
    weight[k] = (k % 2 == 0 ? 1.0 : -1.0) * (k == 0 || k == nodes - 1 ? 0.5 : 1.0);
  }
  return roots.unaryExpr([&](double s) {
    double above = 0, below = 0;
    for (std::size_t k = 0; k < nodes; ++k) {
      if (s == at[k]) return value[k];
      const double part = weight[k] / (s - at[k]);
      above += part * value[k];
      below += part;
    }
    return above / below;
  });
}

}  // namespace scalecalc::moments
