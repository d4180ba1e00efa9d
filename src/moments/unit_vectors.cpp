#include "moments/unit_vectors.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::moments {
namespace {

/// Of the sphere of unit_vector_dimensions(); more are as Gaussian as scores of this many.
constexpr double most_dimensions = 64;
double sphere_of(const Smallness& small, double cosine) {
  return std::max(1.0, unit_vector_dimensions(small, cosine) - 2);
}

/// Given W_k keys fill an ellipsoid, which leaves small scores a cumulant of -6 V/D^2 and heads a
/// variance of 2 V/D^2 of tau2. Large scores meet the bound of the unit sphere, whatever the
/// ellipsoid: those of simulations are as half of V/D^2 and no variance make them.
Smallness on_ellipsoid(Smallness small, double tau2) {
  const double sharp = tau2 / (1 + tau2);
  small.ellipsoid = 1 - sharp / 2;
  small.between_heads = 1 - sharp;
  return small;
}

/// What is left out beside the sphere: products of its first order, 2/d_h, and of that of W_k,
/// 2 overlap, which sharp rows multiply by tau2. Simulations of 4 to 24 features are off by less
/// than half of it in scores and a quarter in weights.
double omitted_of_unit(const Smallness& small, double tau2) {
  constexpr double sharp = 8;
  const double next = 2 / small.head_width + 2 * small.overlap;
  return std::min(1.0, next * next * (1 + tau2 / sharp));
}

/// A row of unit vectors, in the place of what Gaussian scores of this variance make.
SoftmaxOrders on_sphere(const SoftmaxOrders& row, const SoftmaxOnSphere::One& found) {
  SoftmaxOrders out = row;
  out.p2 = found.p2;
  out.a = found.a;
  out.t2 = 1 - 2 * found.p2 + found.p22;
  out.s = found.s;
  out.m2 = found.m2;
  out.q1 = found.q1;
  out.q2 = found.along - found.a;
  out.error = std::max(out.error, found.error);
  return out;
}

}  // namespace

AveragedRow unit_row(double keys, double tau2, double cosine, double plain,
                     const Smallness& small) {
  const double features = small.head_width;
  Smallness given = on_ellipsoid(small, tau2);
  AveragedRow out;
  const double dimensions = sphere_of(given, cosine);
  given.averaged = dimensions <= most_dimensions && SoftmaxOnSphere::covers(dimensions, tau2);
  out.orders = orders_at(keys, tau2);
  double across = 1;
  if (given.averaged) {
    const SoftmaxOnSphere::One found = SoftmaxOnSphere(dimensions, {{keys, tau2}}, false).one(0);
    out.orders = on_sphere(out.orders, found);
    // Of what comes to a query or a key its norm leaves 1 - u^2, u its cosine with the other,
    // less where weights are large; the norms' own rules have 1 - 1/d_h.
    if (features > 1 && found.a > 0)
      across =
          (1 - (cosine + (1 - cosine) * found.along / found.a) / features) / (1 - 1 / features);
  }
  out.factors = row_factors(out.orders, tau2, cosine, plain, given);
  out.factors.query *= across;
  out.factors.key *= across;
  out.factors.key_weight *= across;
  out.factors.omitted_value += omitted_of_unit(small, tau2) / 4;
  out.factors.omitted_score += omitted_of_unit(small, tau2) / 2;
  return out;
}

bool UnitPairs::covers(double tau2) {
  return SoftmaxOnSphere::covers(most_dimensions, tau2);
}

namespace {

SoftmaxOnSphere sphere_of_rows(const std::vector<double>& keys, const std::vector<double>& tau2,
                               double key_cosine, const Smallness& small) {
  std::vector<SoftmaxRows::Row> rows;
  double mean = 0;
  for (std::size_t t = 0; t < keys.size(); ++t) {
    rows.push_back({keys[t], tau2[t]});
    mean += tau2[t] / static_cast<double>(keys.size());
  }
  const double dimensions =
      std::min(sphere_of(on_ellipsoid(small, mean), key_cosine), most_dimensions);
  return {dimensions, rows, true};
}

}  // namespace

UnitPairs::UnitPairs(const std::vector<double>& keys, const std::vector<double>& tau2,
                     double key_cosine, const Smallness& small)
    : features_(small.head_width),
      key_cosine_(key_cosine),
      cosines_(-1, 1, 10),
      // Two queries of one feature are along each other.
      angles_(features_ > 1 ? cosines_.at() : std::vector<double>{-1, 1}),
      sphere_(sphere_of_rows(keys, tau2, key_cosine, small)) {}

std::vector<double> UnitPairs::angle_weights(double cosine) const {
  if (features_ > 1) return cosines_.weights(cosine);
  return {cosine < 0 ? 1.0 : 0.0, cosine < 0 ? 0.0 : 1.0};
}

/// q' = cosine q + sine n of a normal n, of which one feature lies along q and d_h - 1 do not.
UnitPairs::Angles UnitPairs::angles_of(double cosine) const {
  constexpr double reach = 4, step = 0.25;
  const double features = features_, sine = std::sqrt(std::max(0.0, 1 - cosine * cosine));
  using Points = std::vector<HeadLengths::Point>;
  const Points own = HeadLengths::lengths(features);
  const Points across = features > 1 ? HeadLengths::lengths(features - 1) : Points{{0, 1}};
  Angles out{std::vector<double>(angles_.size()), std::vector<double>(angles_.size()), 0};
  double total = 0;
  for (double g = -reach; g < reach + step / 2; g += step) {
    for (const auto& [x, weight] : own) {
      // Of q' along q and across it, both over |n|/d_h^(1/2).
      const double with = cosine * std::sqrt(x * features) + sine * g;
      for (const auto& beside : across) {
        const double length = with * with + sine * sine * beside.x * (features - 1);
        const double c = length > 0 ? std::clamp(with / std::sqrt(length), -1.0, 1.0) : 0;
        const double share = std::exp(-g * g / 2) * weight * beside.weight;
        const std::vector<double> at = angle_weights(c);
        for (std::size_t k = 0; k < at.size(); ++k) {
          out.weights[k] += share * at[k];
          out.along[k] += share * at[k] * c;
        }
        out.mean += share * c;
        total += share;
      }
    }
  }
  for (double& weight : out.weights) weight /= total;
  for (double& weight : out.along) weight /= total;
  out.mean /= total;
  return out;
}

AveragedPair UnitPairs::operator()(std::size_t row, std::size_t other, double cosine, double turned,
                                   const SoftmaxOverlaps& mean) const {
  Angles angles = angles_of(cosine);
  // The cosine is that of normed queries: the features in front of the norm have one that gives it.
  if (angles.mean != 0) angles = angles_of(std::clamp(cosine * cosine / angles.mean, -1.0, 1.0));
  const auto at_angle = [&](double c) {
    return sphere_.two(row, other, std::clamp(turned * c, -1.0, 1.0));
  };
  AveragedPair out{mean, cosine, 0, 0};
  SoftmaxOverlaps& overlaps = out.overlaps;
  overlaps.overlap = overlaps.a_prime = overlaps.square = 0;
  const std::vector<double> at_cosine = angle_weights(cosine);
  double key = 0, on_grid = 0;
  for (std::size_t k = 0; k < angles_.size(); ++k) {
    const SoftmaxOnSphere::Two two = at_angle(angles_[k]);
    overlaps.overlap += angles.weights[k] * two.overlap;
    overlaps.a_prime += angles.weights[k] * two.a_prime;
    overlaps.square += angles.weights[k] * two.square;
    on_grid += at_cosine[k] * two.overlap;
    // Across the key: q.q' less what both have along it, of which weights know that of its own.
    const double both = angles.along[k] * two.a_prime;
    const double gone = key_cosine_ * both + (1 - key_cosine_) * angles.weights[k] * two.along;
    key += features_ > 1 ? (both - gone / features_) / (1 - 1 / features_) : both;
  }
  if (overlaps.a_prime != 0) out.cosine = key / overlaps.a_prime;
  // What the grid says of the mean.
  if (features_ > 1) out.omitted = std::fabs(on_grid / at_angle(cosine).overlap - 1);
  return out;
}

}  // namespace scalecalc::moments
