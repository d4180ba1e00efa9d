#include "gaussian/quadrature/exact_line.hpp"

#include <cmath>

#include "gaussian/quadrature/moment_kind.hpp"

namespace scalecalc::gaussian::quadrature {
namespace {

/// The product under the integral, with the density.
template <class P>
class Integrand {
 public:
  using Big = Number<P>;
  Integrand(const Profile& profile, Moment moment, const ExactInput<P>& input)
      : moment_(moment),
        phi_(profile.activation, is_of_slope(moment)),
        mean_(input.mean),
        std_(input.std),
        mirrored_(is_pair(moment) && input.rounded.correlation == -1.0) {}

  Big operator()(const Big& z) const {
    const Big f = phi_(mean_ + std_ * z);
    const Big density = exp(-z * z / 2) / sqrt(2 * exact_pi<P>());
    switch (moment_) {
      case Moment::mean:
      case Moment::slope_mean: return f * density;
      case Moment::fourth: return f * f * f * f * density;
      case Moment::cross:
      case Moment::slope_cross:
        if (mirrored_) return f * phi_(mean_ - std_ * z) * density;
        break;
      default: break;
    }
    return f * f * density;
  }

  std::vector<Big> breaks() const {
    std::vector<Big> result;
    for (const Big& at : phi_.breaks()) {
      result.push_back((at - mean_) / std_);
      if (mirrored_) result.push_back((mean_ - at) / std_);
    }
    return result;
  }

  Line line(const GaussianInput& rounded) const {
    Line line;
    const double std = std::sqrt(rounded.variance);
    line.tracks[0] = {rounded.mean, std};
    line.tracks[1] = {rounded.mean, -std};
    line.count = mirrored_ ? 2 : 1;
    return line;
  }

 private:
  Moment moment_;
  ExactPhi<P> phi_;
  Big mean_, std_;
  bool mirrored_;
};

/// The largest integral that can be written out has its centre within the first of these; next to
/// divergence it may be wide.
double farthest_reach(const Profile& profile) {
  return std::max(profile.growth[0], profile.growth[1]) < Growth::gaussian ? 400 : 5000;
}

/// Outwards from 0 until the integrand stays below 10^-digits of its largest value, and past every
/// place where it counts.
template <class P>
class Reach {
 public:
  Reach(const Integrand<P>& f, const std::vector<double>& places, double farthest, int digits)
      : f_(f),
        farthest_(farthest),
        threshold_(pow(Number<P>(10), -digits)),
        least_(std::sqrt(4.61 * digits)) {
    for (const double z : places) seen_.emplace_back(z, look(z));
  }

  /// Nothing when the integrand counts too far out.
  std::optional<double> find(int side) {
    int quiet = 0;
    for (double z = 0; z < farthest_; z += std::max(0.5, z / 64)) {
      const Number<P> size = look(side * z);
      quiet = size <= threshold_ * largest_ ? quiet + 1 : 0;
      if (quiet > 4 && z > least_ && z > farthest_seen(side) + 3) return z - 1;
    }
    return std::nullopt;
  }

 private:
  Number<P> look(double z) {
    const Number<P> size = abs(f_(Number<P>(z)));
    if (size > largest_) largest_ = size;
    return size;
  }
  double farthest_seen(int side) const {
    double farthest = 0;
    for (const auto& [z, size] : seen_) {
      if (size > threshold_ * largest_) farthest = std::max(farthest, side * z);
    }
    return farthest;
  }

  const Integrand<P>& f_;
  double farthest_;
  Number<P> threshold_, largest_ = 0;
  double least_;
  std::vector<std::pair<double, Number<P>>> seen_;
};

/// A panel and its halves; the halves are taken when they agree, else each is looked at again.
template <class P>
ExactIntegral<P> settle(const Integrand<P>& f, const Number<P>& low, const Number<P>& high,
                        const ExactSum<P>& whole, const Number<P>& tolerance, int depth) {
  const Number<P> middle = (low + high) / 2;
  const ExactSum<P> left = gauss<P>(f, low, middle), right = gauss<P>(f, middle, high);
  const Number<P> difference = abs(left.value + right.value - whole.value);
  if (difference <= tolerance || depth == 0) {
    return {left.value + right.value, difference, left.absolute + right.absolute};
  }
  const ExactIntegral<P> a = settle<P>(f, low, middle, left, tolerance, depth - 1);
  const ExactIntegral<P> b = settle<P>(f, middle, high, right, tolerance, depth - 1);
  return {a.value + b.value, a.error + b.error, a.absolute + b.absolute};
}

/// On both sides of every feature, within the reach of the density there.
std::vector<double> feature_places(const Profile& profile, const Line& line) {
  std::vector<double> places;
  const auto [offset, slope, parts] = line.tracks[0];
  for (const Feature& feature : profile.features) {
    const double z = (feature.at - offset) / slope;
    const double away = std::min(feature.width / slope / 3, 0.25 / (1 + std::fabs(z)));
    for (const double place : {z - away, z + away}) {
      if (std::fabs(place) < farthest_reach(profile)) places.push_back(place);
    }
  }
  return places;
}

}  // namespace

template <class P>
std::optional<ExactIntegral<P>> exact_line(const Profile& profile, Moment moment,
                                           const ExactInput<P>& input, int digits) {
  const Integrand<P> f(profile, moment, input);
  const Line line = f.line(input.rounded);
  Reach<P> reach(f, feature_places(profile, line), farthest_reach(profile), digits + 4);
  const std::optional<double> left = reach.find(-1), right = reach.find(1);
  if (!left || !right) return std::nullopt;
  std::vector<Panel> panels;
  fill(line, anchors(line, profile, -*left, *right), panels);
  const std::vector<Number<P>> edges = exact_edges<P>(panels, f.breaks());
  std::vector<ExactSum<P>> wholes;
  ExactSum<P> total;
  for (std::size_t k = 0; k + 1 < edges.size(); ++k) {
    wholes.push_back(gauss<P>(f, edges[k], edges[k + 1]));
    total.add(wholes.back());
  }
  const auto count = static_cast<double>(edges.size());
  const Number<P> tolerance = total.absolute * pow(Number<P>(10), -digits) / count;
  ExactIntegral<P> result;
  for (std::size_t k = 0; k + 1 < edges.size(); ++k) {
    const ExactIntegral<P> part = settle<P>(f, edges[k], edges[k + 1], wholes[k], tolerance, 200);
    result.value += part.value;
    result.error += part.error;
    result.absolute += part.absolute;
  }
  result.error += result.absolute * pow(Number<P>(10), -digits);
  return result;
}

template std::optional<ExactIntegral<Shorter>> exact_line<Shorter>(const Profile&, Moment,
                                                                   const ExactInput<Shorter>&, int);
template std::optional<ExactIntegral<Longer>> exact_line<Longer>(const Profile&, Moment,
                                                                 const ExactInput<Longer>&, int);

}  // namespace scalecalc::gaussian::quadrature
