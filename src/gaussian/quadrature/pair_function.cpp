#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>

#include "gaussian/quadrature/adaptive.hpp"
#include "gaussian/quadrature/chebyshev.hpp"
#include "gaussian/quadrature/existence.hpp"
#include "gaussian/quadrature/hermite.hpp"
#include "gaussian/quadrature/one_dimension.hpp"
#include "gaussian/quadrature/pair.hpp"

namespace scalecalc {

using namespace gaussian::quadrature;

/// The series up to |c| = cos(limit), beyond that polynomials in the angle acos(|c|): in the angle
/// kinks leave nothing singular at |c| = 1.
struct PairFunction::Impl {
  Impl(const Profile& of, Moment what, const GaussianInput& input, HermiteSeries made)
      : profile(of),
        moment(what),
        mean(input.mean),
        variance(input.variance),
        series(std::move(made)) {
    find_limit();
  }

  Profile profile;
  Moment moment;
  double mean, variance;
  HermiteSeries series;
  double series_limit = 1;
  /// Near c = 1 and near c = -1, each made when first asked for: a network meets one of them.
  mutable std::array<std::once_flag, 2> once_beyond;
  mutable std::array<std::optional<PiecewiseChebyshev>, 2> near;

  mutable std::once_flag once;
  mutable std::unique_ptr<const PairFunction> slopes;

  bool is_of_slope() const { return moment == Moment::slope_cross; }
  const PiecewiseChebyshev& beyond(double c) const;

  void find_limit();
  Sample limit_at(double angle, bool mirrored) const;
  std::vector<double> checks(bool mirrored, double edge) const;
  double derivative_by_angle(double c) const;
};

namespace {

/// Relative to E f^2.
constexpr double good = 2e-14;
constexpr std::size_t terms = 320;

HermiteSeries series_of(const Profile& profile, Moment moment, const GaussianInput& input) {
  const bool slope = moment == Moment::slope_cross;
  for (const double c : {1.0, -1.0}) {
    check_existence(profile, moment, {input.mean, input.variance, c});
  }
  auto series = input.variance == 0
                    ? HermiteSeries::step(sides(profile.activation, input.mean, slope), terms)
                    : HermiteSeries::make(profile, slope, input.mean, input.variance, terms);
  if (!series || !std::isfinite(series->second())) too_large(profile, moment);
  return *series;
}

}  // namespace

void PairFunction::Impl::find_limit() {
  const double allowed = good * series.second();
  if (series.error(1) <= allowed) return;
  double low = 0, high = 1;
  for (int k = 0; k < 40; ++k) {
    const double middle = 0.5 * (low + high);
    (series.error(middle) <= allowed ? low : high) = middle;
  }
  series_limit = low;
}

/// Of a vanishing variance: as point_moment.
Sample PairFunction::Impl::limit_at(double angle, bool mirrored) const {
  const auto [left, right] = sides(profile.activation, mean, is_of_slope());
  const double turn = angle / std::numbers::pi, apart = mirrored ? 1 - turn : turn;
  const double square = 0.5 * (left * left + right * right);
  return {(1 - apart) * square + apart * left * right, 4 * epsilon * square};
}

/// Angles from 0 to `edge`, down to where features of u and v are as far apart as u and v (u and -v
/// when mirrored) are: |u -+ v| is about std times the angle.
std::vector<double> PairFunction::Impl::checks(bool mirrored, double edge) const {
  constexpr double least = 1e-9;
  const double std = std::sqrt(variance);
  double scale = edge;
  const auto add = [&](double distance) {
    if (distance > least * std) scale = std::min(scale, distance / std);
  };
  for (const Feature& a : profile.features) {
    add(a.width);
    for (const Feature& b : profile.features) {
      add(std::fabs(mirrored ? a.at + b.at - 2 * mean : a.at - b.at));
    }
  }
  std::vector<double> angles;
  if (scale == edge) return angles;
  for (double angle = scale / 4; angle < edge; angle *= 2) angles.push_back(angle);
  angles.push_back(0.0);
  return angles;
}

const PiecewiseChebyshev& PairFunction::Impl::beyond(double c) const {
  const bool mirrored = c < 0;
  const std::size_t side = mirrored ? 1 : 0;
  const auto sample = [&](double angle) -> Sample {
    if (variance == 0) return limit_at(angle, mirrored);
    const auto value = pair_at_angle(profile, is_of_slope(), mean, variance, angle, mirrored);
    if (!value) too_large(profile, moment);
    return {value->value, value->error};
  };
  const double edge = std::acos(series_limit), tolerance = good * series.second();
  std::call_once(once_beyond[side],
                 [&] { near[side].emplace(sample, 0.0, edge, tolerance, checks(mirrored, edge)); });
  return *near[side];
}

/// dE/dc = -+E'(angle)/sin(angle) for c = +-cos(angle), and -+E'' at the ends where that is 0/0.
double PairFunction::Impl::derivative_by_angle(double c) const {
  const double sine = std::sqrt((1 - c) * (1 + c)), sign = c < 0 ? 1 : -1;
  const auto at = beyond(c).derivatives(std::acos(std::fabs(c)));
  // The slope of the polynomial is not known better than this.
  const double noise = 1e4 * at.error;
  if (sine > 1e-4) return sign * at.slope / sine;
  if (std::fabs(at.slope) <= noise + 4 * sine * std::fabs(at.curvature)) return sign * at.curvature;
  if (sine == 0) {
    throw Error(ErrorKind::input, "the derivative by the correlation is infinite",
                "correlation = " + std::to_string(c), "it is finite inside (-1, 1)");
  }
  return sign * at.slope / sine;
}

PairFunction::PairFunction(const Activation& activation, Moment pair_moment, double mean,
                           double variance) {
  const GaussianInput input{mean, variance, 1.0};
  if (!is_pair(pair_moment)) {
    throw Error(ErrorKind::input, to_string(pair_moment) + " is not a pair expectation", {},
                "cross or slope_cross");
  }
  check_input(input, pair_moment);
  const Profile& profile = profile_of(activation);
  impl_ = std::make_shared<const Impl>(profile, pair_moment, input,
                                       series_of(profile, pair_moment, input));
}

Estimate PairFunction::operator()(double correlation) const {
  check_input({impl_->mean, impl_->variance, correlation}, impl_->moment);
  if (std::fabs(correlation) <= impl_->series_limit) return impl_->series(correlation);
  const PiecewiseChebyshev& beyond = impl_->beyond(correlation);
  const double angle = std::acos(std::fabs(correlation));
  return {beyond.value(angle), beyond.error(angle), Method::quadrature};
}

double PairFunction::series_limit() const {
  return impl_->series_limit;
}

double PairFunction::derivative(double correlation) const {
  const Impl& impl = *impl_;
  check_input({impl.mean, impl.variance, correlation}, impl.moment);
  // Price: d/dc E phi(u) phi(v) = q E phi'(u) phi'(v), where phi does not jump.
  const bool by_price = impl.moment == Moment::cross && impl.variance > 0 &&
                        !impl.profile.activation.has_jump() && impl.profile.slope_pole < 0.25;
  if (by_price) {
    std::call_once(impl.once, [&] {
      impl.slopes = std::make_unique<const PairFunction>(
          impl.profile.activation, Moment::slope_cross, impl.mean, impl.variance);
    });
    return impl.variance * (*impl.slopes)(correlation).value;
  }
  if (std::fabs(correlation) <= impl.series_limit) return impl.series.derivative(correlation);
  return impl.derivative_by_angle(correlation);
}

const std::vector<double>& PairFunction::coefficients() const {
  return impl_->series.squares();
}

}  // namespace scalecalc
