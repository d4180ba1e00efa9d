#include "moments/gaussian_function.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "moments/width_moments.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::moments {
namespace {

constexpr std::size_t keep = 64;
/// Where the variance changes at every layer, and between positions, so many inputs within a
/// panel's range of variances are met one by one; then a panel, which is worth ten of them, is
/// made.
constexpr int before_panels = 8;
constexpr int panel_nodes = 10;
static_assert(panel_nodes <= SeriesTable::width);
constexpr double panels_per_unit = 2.5;  ///< of ln(variance)
long panel_of(double variance) {
  return static_cast<long>(std::floor(std::log(variance) * panels_per_unit));
}
/// What ten nodes leave of functions that are analytic in ln(variance), here within a radius of 1.
constexpr double panel_error = 1e-10;

/// Sixteen points within an angle of 0.45 leave (0.45/4)^16/16! of a sine or a cosine; rounding is
/// what remains.
constexpr double near_one = 0.9;
constexpr int near_points = 16;
/// Of Chebyshev points: at most 2/pi ln(16) + 1 times the points' own error is found between them.
constexpr double near_growth = 2.8;

/// Past this variance, where integrals of a pair without a closed form lose their digits, a signal
/// is said to explode.
constexpr double largest_without_formula = 1e12;

/// Terms of gelu's Hermite series fall as (v/(1 + v))^n at variance v: past this one the 320 of a
/// pair leave e^-5 of what they were.
constexpr double wide_variance = 64;

Estimate one_of(const Moments1D& line, Moment moment) {
  switch (moment) {
    case Moment::mean: return line.mean;
    case Moment::second: return line.second;
    case Moment::slope_mean: return line.slope_mean;
    case Moment::slope_second: return *line.slope_second;
    default: return line.fourth;
  }
}

/// A Hermite series converges slowly at a kink, and where phi bends within a small part of its
/// input's range; a closed form, if there is one, is better.
bool is_sharp(const Activation& activation, double variance) {
  return !activation.has_jump() && (!activation.breaks().empty() || variance > wide_variance);
}

/// Correlations near 1, beyond the Hermite series: polynomials in the angle are made of some
/// hundred integrals in the plane, so at one variance the first so many are integrals by
/// themselves. A panel makes those polynomials at each of its nodes.
constexpr int before_polynomials = 32;

constexpr double eps = std::numeric_limits<double>::epsilon();

/// How far values are off that were taken at the rounded cosines of angles: half a unit of a cosine
/// in [1/2, 1] is an angle of eps/(4 sin); neighbours tell the slope.
double error_of_cosines(const std::vector<double>& angles, const std::vector<double>& values) {
  double most = 0;
  for (std::size_t k = 1; k < angles.size(); ++k) {
    const double slope = std::fabs((values[k] - values[k - 1]) / (angles[k] - angles[k - 1]));
    most = std::max(most, slope * eps / (4 * std::sin(std::min(angles[k], angles[k - 1]))));
  }
  return most;
}

}  // namespace

void throw_exploding(const std::string& what, const std::string& path) {
  throw Error(ErrorKind::input, "the signal explodes: " + what, path,
              "use fewer layers or a smaller gain");
}

Activation activation_of(const std::string& function) {
  const auto names = activation_names();
  if (std::find(names.begin(), names.end(), function) != names.end())
    return Activation::named(function);
  return Activation::from_expression(function);
}

GaussianFunction::GaussianFunction(const std::string& function)
    : activation_(activation_of(function)) {}

GaussianFunction::AtInput* GaussianFunction::find(double mean, double variance) {
  const auto is_it = [&](const AtInput& input) {
    return input.mean == mean && input.variance == variance;
  };
  if (last_ && is_it(*last_)) return last_;
  for (AtInput& input : kept_)
    if (is_it(input)) return last_ = &input;
  return nullptr;
}

GaussianFunction::AtInput& GaussianFunction::at(double mean, double variance) {
  if (AtInput* found = find(mean, variance)) return *found;
  if (mean == 0 && variance > 0) ++misses_[panel_of(variance)];
  if (kept_.size() == keep) kept_.pop_front();
  AtInput& input = kept_.emplace_back();
  input.mean = mean;
  input.variance = variance;
  return *(last_ = &input);
}

/// All five at once, as long as all exist.
Estimate GaussianFunction::expectation(Moment moment, double mean, double variance) {
  if (!find(mean, variance) && wanders(mean, variance)) return by_panel(moment, variance);
  AtInput& input = at(mean, variance);
  const auto known = input.single.find(moment);
  if (known != input.single.end()) return known->second;
  if (!input.line && input.single.empty()) {
    try {
      input.line = quadrature_1d(activation_, {mean, variance, {}});
    } catch (const Error&) {
      input.line.reset();
    }
  }
  const bool from_line = input.line && (moment != Moment::slope_second || input.line->slope_second);
  if (from_line) return one_of(*input.line, moment);
  return input.single[moment] = quadrature(activation_, moment, {mean, variance, {}});
}

const ClosedFormFunction* GaussianFunction::formula(Moment moment, double variance) {
  if (!is_sharp(activation_, variance)) return nullptr;
  const auto [place, is_new] = formulas_.try_emplace(moment);
  if (is_new) {
    ClosedFormFunction found(activation_, moment);
    if (found.formula(InputMean::zero).formula) place->second = std::move(found);
  }
  return place->second ? &*place->second : nullptr;
}

std::optional<Estimate> GaussianFunction::by_formula(Moment moment, double variance,
                                                     double correlation) {
  const ClosedFormFunction* form = formula(moment, variance);
  if (!form) return std::nullopt;
  const auto exact = [&](double c) { return (*form)({0, variance, c}); };
  if (correlation < near_one) return exact(correlation);
  AtInput& input = at(0, variance);
  NearOne& near = moment == Moment::cross ? input.near_cross : input.near_slope;
  if (++near.asked < near_points) return exact(correlation);
  if (near.values.empty()) {
    near.angles = {0, std::acos(near_one), near_points};
    std::vector<double> values;
    double error = 0, largest = 0;
    for (const double angle : near.angles.at()) {
      const auto value = exact(std::cos(angle));
      if (!value) return std::nullopt;
      values.push_back(value->value);
      error = std::max(error, value->error);
      largest = std::max(largest, std::fabs(value->value));
    }
    near.error = near_growth * (error + error_of_cosines(near.angles.at(), values)) +
                 near_points * eps * largest;
    near.values = std::move(values);
  }
  const double value =
      near.angles(std::acos(correlation), [&](std::size_t k) { return near.values[k]; });
  return Estimate{value, near.error, Method::closed_form};
}

const PairFunction& GaussianFunction::pair_at(AtInput& input, Moment moment) const {
  auto& pair = moment == Moment::cross ? input.cross : input.slope_cross;
  if (!pair) pair.emplace(activation_, moment, input.mean, input.variance);
  return *pair;
}

bool GaussianFunction::wanders(double mean, double variance) {
  if (mean != 0 || !(variance > 0)) return false;
  if (variance >= wandering_[0] && variance < wandering_[1]) return true;
  const long index = panel_of(variance);
  const auto found = misses_.find(index);
  if (found == misses_.end() || found->second < before_panels) return false;
  const auto low = static_cast<double>(index);
  wandering_ = {std::exp(low / panels_per_unit), std::exp((low + 1) / panels_per_unit)};
  return true;
}

GaussianFunction::Panel& GaussianFunction::panel(Moment moment, double variance) {
  const long index = panel_of(variance);
  Panel& panel = panels_[{moment, index}];
  if (panel.places.at().empty()) {
    const auto low = static_cast<double>(index);
    panel.places = {low / panels_per_unit, (low + 1) / panels_per_unit, panel_nodes};
  }
  return panel;
}

Estimate GaussianFunction::by_panel(Moment moment, double variance) {
  const double place = std::log(variance);
  Panel& in = panel(moment, variance);
  if (in.values.empty())
    for (const double at : in.places.at())
      in.values.push_back(quadrature(activation_, moment, {0, std::exp(at), {}}));
  const double value = in.places(place, [&](std::size_t k) { return in.values[k].value; });
  return {value, in.values.front().error + panel_error * std::fabs(value), Method::quadrature};
}

Estimate GaussianFunction::by_panel(Moment moment, double variance, double correlation) {
  const KnownPairs::Place place{moment, variance, correlation};
  if (const Estimate* known = known_pairs_.find(place)) return *known;
  const Estimate found = from_panel(moment, variance, correlation);
  known_pairs_.add(place, found);
  return found;
}

Estimate GaussianFunction::from_panel(Moment moment, double variance, double correlation) {
  const double place = std::log(variance);
  Panel& in = panel(moment, variance);
  if (in.functions.empty()) {
    for (const double at : in.places.at())
      in.functions.emplace_back(activation_, moment, 0.0, std::exp(at));
    in.series = SeriesTable(in.functions);
  }
  if (std::fabs(correlation) <= in.series.limit()) {
    const SeriesTable::Values at = in.series(correlation);
    double most = 0;
    for (const double value : at) most = std::max(most, std::fabs(value));
    return {in.places(place, [&](std::size_t k) { return at[k]; }), panel_error * most,
            Method::quadrature};
  }
  const auto is_beyond = [&](const PairFunction& f) {
    return std::fabs(correlation) > f.series_limit();
  };
  if (std::any_of(in.functions.begin(), in.functions.end(), is_beyond) &&
      ++in.asked_beyond < panel_nodes * before_polynomials)
    return quadrature(activation_, moment, {0, variance, correlation});
  double largest = 0;
  const double value = in.places(place, [&](std::size_t k) {
    const double at = in.functions[k](correlation).value;
    largest = std::max(largest, std::fabs(at));
    return at;
  });
  return {value, panel_error * largest, Method::quadrature};
}

template <class Compute>
const Estimate& GaussianFunction::lately(Moment moment, double mean, double variance,
                                         double correlation, const Compute& compute) {
  for (const Asked& asked : asked_)
    if (asked.correlation == correlation && asked.variance == variance && asked.mean == mean &&
        asked.moment == moment)
      return asked.found;
  Asked& made = asked_[next_asked_];
  next_asked_ = (next_asked_ + 1) % asked_.size();
  made = {moment, mean, variance, correlation, compute()};
  return made.found;
}

Estimate GaussianFunction::pair(Moment moment, double mean, double variance, double correlation) {
  AtInput* input = find(mean, variance);
  const auto from = [&](AtInput& known) -> Estimate {
    const PairFunction& function = pair_at(known, moment);
    if (std::fabs(correlation) > function.series_limit() &&
        ++known.asked_beyond[moment] < before_polynomials)
      return quadrature(activation_, moment, {mean, variance, correlation});
    return function(correlation);
  };
  if (input && input->pair(moment))
    return lately(moment, mean, variance, correlation, [&] { return from(*input); });
  if (mean == 0) {
    if (const auto value = by_formula(moment, variance, correlation)) return *value;
    if (variance > largest_without_formula)
      throw_exploding(fmt::format("{} of variance {:.3g}", activation_.name(), variance));
    if (wanders(mean, variance))
      return lately(moment, mean, variance, correlation,
                    [&] { return by_panel(moment, variance, correlation); });
  }
  return from(input ? *input : at(mean, variance));
}

const WidthMoments& GaussianFunction::width(double mean, double variance) {
  // To 1/512: they multiply terms of order 1/n.
  constexpr double steps = 512;
  const double rounded =
      variance > 0 ? std::exp(std::round(std::log(variance) * steps) / steps) : variance;
  for (const AtWidth& known : widths_)
    if (known.mean == mean && known.variance == rounded) return known.moments;
  if (widths_.size() == keep) widths_.pop_front();
  return widths_.emplace_back(AtWidth{mean, rounded, width_moments(activation_, mean, rounded)})
      .moments;
}

}  // namespace scalecalc::moments
