#include "gaussian/quadrature/exact_pair.hpp"

#include <algorithm>
#include <cmath>

#include "base/deadline.hpp"
#include "gaussian/quadrature/pair_frame.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::gaussian::quadrature {
namespace {

/// Half the width of the standard normal at so many digits.
double reach_of(int digits) {
  return std::sqrt(4.61 * digits) + 2;
}

/// How far out |f| exp(-z^2/4) counts beside its largest value: what grows like exp(x) has its
/// centre far from 0.
template <class P>
double growth_reach(const Profile& profile, const ExactPhi<P>& f, const ExactInput<P>& input,
                    int digits) {
  if (std::max(profile.growth[0], profile.growth[1]) == Growth::polynomial) return 0;
  double result = 0;
  for (const int side : {-1, 1}) {
    double largest = -infinite, last = 0;
    for (double z = 0; z < 800 && z < last + 20; z += 0.5) {
      const Number<P> size = abs(f(input.mean + side * z * input.std));
      if (size == 0) continue;
      const double exponent = static_cast<double>(log(size)) - 0.25 * z * z;
      largest = std::max(largest, exponent);
      if (exponent > largest - 2.31 * digits) last = z;
    }
    result = std::max(result, last + 1);
  }
  return result;
}

std::vector<Panel> thinner(const Line& line, const std::vector<Panel>& panels, double width) {
  std::vector<Panel> result;
  for (const Panel& panel : panels) {
    const int parts = static_cast<int>(std::ceil(2 * panel.half / width));
    for (int k = 0; k < parts; ++k) {
      const double half = panel.half / parts;
      result.push_back(panel.part(line, (2 * k + 1) * half - panel.half, half));
    }
  }
  return result;
}

/// E f(u) f(v) = sum a_n^2 c^n (Mehler), a_n = E f(u) He_n(z)/sqrt(n!).
template <class P>
class Series {
 public:
  using Big = Number<P>;

  Series(const Profile& profile, bool slope, const ExactInput<P>& input, int digits, int terms,
         double shrink) {
    const ExactPhi<P> phi(profile.activation, slope);
    Line line;
    line.tracks[0] = {input.rounded.mean, std::sqrt(input.rounded.variance)};
    // He_n/sqrt(n!) is below exp(z^2/4): half of the density is left for the tails.
    const double reach =
        std::max(std::sqrt(2.0) * reach_of(digits), growth_reach<P>(profile, phi, input, digits));
    std::vector<Panel> panels;
    fill(line, anchors(line, profile, -reach, reach), panels);
    // Between two nodes a polynomial of so many roots turns by less than a radian.
    const double width = std::min(3.2, 0.6 * P::nodes / std::sqrt(terms + 1.0));
    std::vector<Big> places;
    for (const Big& at : phi.breaks()) places.push_back((at - input.mean) / input.std);
    const std::vector<Big> edges = exact_edges<P>(thinner(line, panels, shrink * width), places);
    const Big root = sqrt(2 * exact_pi<P>());
    for (std::size_t k = 0; k + 1 < edges.size(); ++k) {
      const Big middle = (edges[k] + edges[k + 1]) / 2, half = (edges[k + 1] - edges[k]) / 2;
      for (std::size_t j = 0; j < exact_rule<P>().node.size(); ++j) {
        const Big z = middle + half * exact_rule<P>().node[j];
        const Big f = phi(input.mean + input.std * z);
        z_.push_back(z);
        weight_.push_back(half * exact_rule<P>().weight[j] * exp(-z * z / 2) / root * f);
        second_ += weight_.back() * f;
      }
    }
  }

  /// Up to the term from which the rest is below the tolerance, by Parseval; nothing when that
  /// takes more than `terms`.
  std::optional<ExactIntegral<P>> sum(const Big& c, int terms, const Big& tolerance) const {
    std::vector<Big> now(z_.size(), Big(1)), before(z_.size(), Big(0));
    ExactIntegral<P> result;
    Big power = 1, rest = second_;
    for (int n = 0; n < terms; ++n) {
      base::check_deadline();
      Big a = 0;
      const Big root = sqrt(Big(n)), scale = 1 / sqrt(Big(n + 1));
      for (std::size_t k = 0; k < z_.size(); ++k) {
        a += weight_[k] * now[k];
        before[k] = (z_[k] * now[k] - root * before[k]) * scale;
      }
      now.swap(before);
      result.value += a * a * power;
      result.absolute += abs(a * a * power);
      rest -= a * a;
      power *= c;
      result.error = abs(rest * power);
      if (n > 8 && result.error <= tolerance * result.absolute) return result;
    }
    return std::nullopt;
  }

 private:
  std::vector<Big> z_, weight_;
  Big second_ = 0;
};

/// Terms after which c^n is below the tolerance.
int terms_for(double c, int digits) {
  const double per_term = -std::log10(std::fabs(c));
  return per_term > 0 ? static_cast<int>(std::min(1e6, digits / per_term)) + 16 : 16;
}

template <class P>
std::optional<ExactIntegral<P>> by_series(const Profile& profile, bool slope,
                                          const ExactInput<P>& input, int digits) {
  // Smooth functions need far fewer terms than c^n alone says.
  constexpr int most = 1500;
  const int terms = terms_for(*input.rounded.correlation, digits);
  if (terms > most && !profile.activation.breaks().empty()) return std::nullopt;
  const int used = std::min(terms, most);
  const Number<P> tolerance = pow(Number<P>(10), -digits) / 4;
  const Series<P> first(profile, slope, input, digits, used, 1.0);
  auto result = first.sum(input.correlation, used, tolerance);
  if (!result) return std::nullopt;
  const Series<P> second(profile, slope, input, digits, used, 0.6);
  const auto again = second.sum(input.correlation, used, tolerance);
  if (!again) return std::nullopt;
  result->error += abs(result->value - again->value);
  result->value = again->value;
  return result;
}

/// The plane, in the coordinates of PairFrame.
template <class P>
class Plane {
 public:
  using Big = Number<P>;

  Plane(const Profile& profile, bool slope, const ExactInput<P>& input, int digits)
      : profile_(profile),
        frame_(input.rounded),
        phi_(profile.activation, slope),
        input_(input),
        reach_(std::max(reach_of(digits), growth_reach<P>(profile, phi_, input, digits))) {
    const Big c = abs(input.correlation);
    wide_ = input.std * sqrt((1 + c) / 2);
    narrow_ = input.std * sqrt((1 - c) / 2);
  }

  ExactSum<P> integrate(double shrink) const {
    const bool even_across = frame_.is_even_across();
    std::vector<Panel> panels;
    const Line axis;
    fill(axis, frame_.crossings(profile_, even_across ? 0.0 : -reach_, reach_), panels);
    const std::vector<Big> edges =
        exact_edges<P>(thinner(axis, panels, shrink * panel_width), crossings());
    ExactSum<P> total;
    for (std::size_t k = 0; k + 1 < edges.size(); ++k)
      total.add(strip(edges[k], edges[k + 1], shrink));
    // Either the lines or the plane are even.
    const Big factor = 1 / exact_pi<P>();
    return {total.value * factor, total.absolute * factor};
  }

 private:
  static constexpr double panel_width = 3.2;

  ExactSum<P> strip(const Big& low, const Big& high, double shrink) const {
    const ExactRule<P>& rule = exact_rule<P>();
    const Big middle = (low + high) / 2, half = (high - low) / 2;
    ExactSum<P> sum;
    for (std::size_t k = 0; k < rule.node.size(); ++k) {
      const Big y = middle + half * rule.node[k];
      const Big weight = half * rule.weight[k] * exp(-y * y / 2);
      const ExactSum<P> part = along(y, shrink);
      sum.value += weight * part.value;
      sum.absolute += weight * part.absolute;
    }
    return sum;
  }

  ExactSum<P> along(const Big& y, double shrink) const {
    const bool even_across = frame_.is_even_across();
    const Line line = frame_.line(static_cast<double>(y));
    const Big u = input_.mean + narrow_ * y;
    const Big v = even_across ? Big(input_.mean - narrow_ * y) : u;
    const Big slope = even_across ? wide_ : Big(-wide_);
    std::vector<Big> places;
    for (const Big& at : phi_.breaks()) {
      places.push_back((at - u) / wide_);
      places.push_back((at - v) / slope);
    }
    std::vector<Panel> panels;
    fill(line, anchors(line, profile_, even_across ? -reach_ : 0.0, reach_), panels);
    const std::vector<Big> edges =
        exact_edges<P>(thinner(line, panels, shrink * panel_width), places);
    const auto f = [&](const Big& z) {
      return Big(phi_(u + wide_ * z) * phi_(v + slope * z) * exp(-z * z / 2));
    };
    ExactSum<P> sum;
    for (std::size_t k = 0; k + 1 < edges.size(); ++k) sum.add(gauss<P>(f, edges[k], edges[k + 1]));
    return sum;
  }

  std::vector<Big> crossings() const {
    std::vector<Big> result;
    for (const Big& a : phi_.breaks()) {
      for (const Big& b : phi_.breaks()) {
        result.push_back(frame_.is_even_across() ? Big((a - b) / 2 / narrow_)
                                                 : Big(((a + b) / 2 - input_.mean) / narrow_));
      }
    }
    return result;
  }

  const Profile& profile_;
  PairFrame frame_;
  ExactPhi<P> phi_;
  const ExactInput<P>& input_;
  double reach_;
  Big wide_, narrow_;
};

}  // namespace

template <class P>
ExactIntegral<P> exact_pair(const Profile& profile, bool slope, const ExactInput<P>& input,
                            int digits) {
  if (auto series = by_series<P>(profile, slope, input, digits)) return *series;
  const Plane<P> plane(profile, slope, input, digits + 4);
  const ExactSum<P> coarse = plane.integrate(1.0), fine = plane.integrate(0.7);
  return {fine.value, abs(fine.value - coarse.value), fine.absolute};
}

template ExactIntegral<Shorter> exact_pair<Shorter>(const Profile&, bool,
                                                    const ExactInput<Shorter>&, int);
template ExactIntegral<Longer> exact_pair<Longer>(const Profile&, bool, const ExactInput<Longer>&,
                                                  int);

}  // namespace scalecalc::gaussian::quadrature
