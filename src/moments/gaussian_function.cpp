#include "moments/gaussian_function.hpp"

#include <algorithm>
#include <cmath>

#include "moments/width_moments.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::moments {
namespace {

constexpr std::size_t keep = 64;
/// Networks whose variance changes at every layer go on by panels after so many inputs.
constexpr std::size_t before_panels = 24;
constexpr int panel_nodes = 10;
constexpr double panels_per_unit = 2.5;  ///< of ln(variance)
/// What ten nodes leave of functions that are analytic in ln(variance), here within a radius of 1.
constexpr double panel_error = 1e-10;

Estimate one_of(const Moments1D& line, Moment moment) {
  switch (moment) {
    case Moment::mean: return line.mean;
    case Moment::second: return line.second;
    case Moment::slope_mean: return line.slope_mean;
    case Moment::slope_second: return *line.slope_second;
    default: return line.fourth;
  }
}

/// Then a Hermite series converges slowly, and a closed form, if there is one, is better.
bool is_kinked(const Activation& activation) {
  return !activation.breaks().empty() && !activation.has_jump();
}

}  // namespace

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
  ++misses_;
  if (kept_.size() == keep) kept_.pop_front();
  AtInput& input = kept_.emplace_back();
  input.mean = mean;
  input.variance = variance;
  return *(last_ = &input);
}

/// All five at once, as long as all exist.
Estimate GaussianFunction::expectation(Moment moment, double mean, double variance) {
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

const ClosedFormFunction* GaussianFunction::formula(Moment moment) {
  if (!is_kinked(activation_)) return nullptr;
  const auto [place, is_new] = formulas_.try_emplace(moment);
  if (is_new) {
    ClosedFormFunction found(activation_, moment);
    if (found.formula(InputMean::zero).formula) place->second = std::move(found);
  }
  return place->second ? &*place->second : nullptr;
}

const PairFunction& GaussianFunction::pair_at(AtInput& input, Moment moment) const {
  auto& pair = moment == Moment::cross ? input.cross : input.slope_cross;
  if (!pair) pair.emplace(activation_, moment, input.mean, input.variance);
  return *pair;
}

const GaussianFunction::Panel& GaussianFunction::panel(Moment moment, long index) {
  Panel& panel = panels_[{moment, index}];
  if (!panel.functions.empty()) return panel;
  const auto low = static_cast<double>(index);
  panel.places = {low / panels_per_unit, (low + 1) / panels_per_unit, panel_nodes};
  for (const double place : panel.places.at())
    panel.functions.emplace_back(activation_, moment, 0.0, std::exp(place));
  return panel;
}

Estimate GaussianFunction::by_panel(Moment moment, double variance, double correlation) {
  const double place = std::log(variance);
  const Panel& in = panel(moment, static_cast<long>(std::floor(place * panels_per_unit)));
  double largest = 0;
  const double value = in.places(place, [&](std::size_t k) {
    const double at = in.functions[k](correlation).value;
    largest = std::max(largest, std::fabs(at));
    return at;
  });
  return {value, panel_error * largest, Method::quadrature};
}

Estimate GaussianFunction::pair(Moment moment, double mean, double variance, double correlation) {
  AtInput* input = find(mean, variance);
  if (input && input->pair(moment)) return (*input->pair(moment))(correlation);
  if (mean == 0) {
    if (const ClosedFormFunction* form = formula(moment))
      if (const auto value = (*form)({0, variance, correlation})) return *value;
    if (misses_ > before_panels && variance > 0) return by_panel(moment, variance, correlation);
  }
  return pair_at(input ? *input : at(mean, variance), moment)(correlation);
}

const WidthMoments& GaussianFunction::width(double mean, double variance) {
  AtInput& input = at(mean, variance);
  if (!input.width) input.width = width_moments(activation_, mean, variance);
  return *input.width;
}

}  // namespace scalecalc::moments
