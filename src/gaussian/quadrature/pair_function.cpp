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

using namespace integration;

/// The series up to |c| = cos(limit), beyond that polynomials in the angle acos(c): in the angle
/// kinks leave nothing singular at c = 1.
struct PairFunction::Impl {
  Impl(const Profile& of, Moment what, const GaussianInput& input, HermiteSeries made)
      : profile(of),
        moment(what),
        mean(input.mean),
        variance(input.variance),
        series(std::move(made)) {
    find_limit();
    build_beyond();
  }

  Profile profile;
  Moment moment;
  double mean, variance;
  HermiteSeries series;
  double series_limit = 1;
  std::optional<PiecewiseChebyshev> near_one, near_minus_one;

  mutable std::once_flag once;
  mutable std::unique_ptr<const PairFunction> slopes;

  bool is_of_slope() const { return moment == Moment::slope_cross; }
  const PiecewiseChebyshev& beyond(double c) const { return c > 0 ? *near_one : *near_minus_one; }

  void find_limit();
  void build_beyond();
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
  if (input.variance == 0) {
    return HermiteSeries::constant(point_moment(profile.activation, moment, input.mean));
  }
  auto series = HermiteSeries::make(profile, slope, input.mean, input.variance, terms);
  if (!series) too_large(profile, moment);
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

void PairFunction::Impl::build_beyond() {
  if (series_limit == 1) return;
  const auto sample = [&](double angle) -> Sample {
    const auto value = pair_at_angle(profile, is_of_slope(), mean, variance, angle);
    if (!value) too_large(profile, moment);
    return {value->value, value->error};
  };
  const double edge = std::acos(series_limit), pi = std::numbers::pi;
  const double tolerance = good * series.second();
  near_one.emplace(sample, 0.0, edge, tolerance);
  near_minus_one.emplace(sample, pi - edge, pi, tolerance);
}

/// dE/dc = -E'(angle)/sin(angle), and -E''/cos at the ends where that is 0/0.
double PairFunction::Impl::derivative_by_angle(double c) const {
  const double angle = std::acos(c), sine = std::sqrt((1 - c) * (1 + c));
  const auto at = beyond(c).derivatives(angle);
  // The slope of the polynomial is not known better than this.
  const double noise = 1e4 * at.error;
  if (sine > 1e-4) return -at.slope / sine;
  if (std::fabs(at.slope) <= noise + 4 * sine * std::fabs(at.curvature)) return -at.curvature / c;
  if (sine == 0) {
    throw Error(ErrorKind::input, "the derivative by the correlation is infinite",
                "correlation = " + std::to_string(c), "it is finite inside (-1, 1)");
  }
  return -at.slope / sine;
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
  const double angle = std::acos(correlation);
  return {beyond.value(angle), beyond.error(angle), Method::quadrature};
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
