#include "moments/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/deadline.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::moments {
namespace {

/// Fourth moments of what is larger leave the range of a double.
constexpr double largest_second = 1e150;
/// Moments are tested up to this second moment; what fails beyond it has exploded.
constexpr double tested_second = 1e8;

/// E of the largest squared singular value of an n x m matrix of unit entries: the edge of the
/// spectrum, and the mean -1.2065 of the Tracy-Widom law in units of its width.
double largest_singular_square(double rows, double columns) {
  const double edge = std::sqrt(rows) + std::sqrt(columns);
  const double width = edge * std::cbrt(1 / std::sqrt(rows) + 1 / std::sqrt(columns));
  return edge * edge - 1.2065335745820 * width;
}

}  // namespace

double Numbers::variance(const Linear& layer) const {
  const auto rows = static_cast<double>(layer.fan_in), columns = static_cast<double>(layer.fan_out);
  switch (layer.weight_norm) {
    case WeightNorm::demodulated: return layer.multiplier * layer.multiplier / rows;
    case WeightNorm::spectral:
      return layer.multiplier * layer.multiplier /
             (layer.distribution == Distribution::orthogonal
                  ? std::max(rows, columns)
                  : largest_singular_square(rows, columns));
    case WeightNorm::none: break;
  }
  const double std = layer.multiplier * layer.std;
  return std * std;
}

Numbers::Function Numbers::function(const std::string& name) {
  if (last_name_ && *last_name_ == name) return last_function_;
  const auto [place, is_new] = functions_.try_emplace(name);
  if (is_new) place->second = std::make_unique<GaussianFunction>(name);
  last_name_ = &place->first;
  return last_function_ = place->second.get();
}

void Numbers::note(const Estimate& estimate, bool is_slope) {
  double& worst = is_slope ? slope_error_ : value_error_;
  worst = std::max(worst, estimate.error);
}

double Numbers::expectation(Function f, Moment moment, const Token<double>& u) {
  const Estimate found = f->expectation(moment, u.mean, positive(variance_of(u)));
  note(found, moment == Moment::slope_second || moment == Moment::slope_mean);
  return found.value;
}

/// Two variances are taken at their geometric mean: exact for homogeneous activations; a ratio e^x
/// leaves out x^2/8 of how a pair bends with the ratio.
double Numbers::pair(Function f, Moment moment, const Token<double>& u, const Token<double>& v,
                     double cross) {
  const double at_u = positive(variance_of(u)), at_v = positive(variance_of(v));
  const double variance = at_u == at_v ? at_u : std::sqrt(at_u * at_v);
  const double mean = u.mean == v.mean ? u.mean : (u.mean + v.mean) / 2;
  if (at_u != at_v && variance > 0) {
    const double log_ratio = std::log(at_u / at_v);
    ratio_ = std::max(ratio_, log_ratio * log_ratio / 8);
  }
  const double c = variance > 0 ? (cross - u.mean * v.mean) / variance : 0;
  const Estimate found = f->pair(moment, mean, variance, std::clamp(c, -1.0, 1.0));
  note(found, moment == Moment::slope_cross);
  return found.value;
}

Premise& Numbers::assumption(std::string_view rule, std::string_view text) {
  for (Premise& known : assumptions_)
    if (known.text == text && known.rule == rule) return known;
  worst_.push_back(0);
  Premise made;
  made.rule = rule;
  made.text = text;
  made.first_site = *site_;
  return assumptions_.emplace_back(std::move(made));
}

void Numbers::assume(std::string_view rule, std::string_view text) {
  assumption(rule, text);
}

void Numbers::assume(std::string_view rule, std::string_view text, std::string_view name,
                     double value, double limit) {
  Premise& made = assumption(rule, text);
  double& worst = worst_[static_cast<std::size_t>(&made - assumptions_.data())];
  if (!made.condition.empty() && value <= worst) return;
  worst = value;
  made.condition = fmt::format("{} = {:.3g} is small", name, value);
  if (made.holds && value > limit) made.first_site = *site_;
  made.holds = value <= limit;
}

void Numbers::complete(const std::string& path, const Alike<double>& x, RelativeError& error,
                       RelativeError& truncation) {
  base::check_deadline();
  const bool known = std::isfinite(x.second) && std::isfinite(x.cross) &&
                     std::isfinite(x.between) && std::isfinite(x.mean);
  if (x.second > (known ? largest_second : tested_second))
    throw_exploding(fmt::format("E x^2 = {:.3g}", x.second), path);
  if (!known)
    throw Error(ErrorKind::input, fmt::format("the moments are no numbers: E x^2 = {}", x.second),
                path, "a norm meets a signal that is 0 without norm_eps");
  const double noted = std::exchange(value_error_, 0.0);
  if (x.second > 0) {
    error.second += noted / x.second;
    error.cross += noted / x.second;
  }
  truncation.second += std::exchange(omitted_.second, 0.0);
  truncation.cross += std::exchange(omitted_.cross, 0.0) + std::exchange(ratio_, 0.0);
  truncation.second = std::min<double>(truncation.second, most_error);
  limit_cross(x, truncation);
  if (x.second > 0)
    truncation.mean =
        std::min<double>(truncation.mean, std::sqrt(1 + truncation.second) +
                                              std::fabs(x.mean) / std::sqrt(x.second));
}

void Numbers::check(const std::string& path, const Alike<double>& gradient) const {
  base::check_deadline();
  if (std::isfinite(gradient.second) && std::isfinite(gradient.cross)) return;
  throw Error(ErrorKind::input,
              fmt::format("the gradient's second moment is no number: {}", gradient.second), path,
              "it overflows on its way back; fewer layers or a smaller gain");
}

}  // namespace scalecalc::moments
