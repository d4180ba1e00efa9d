#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

#include "moments/activation_error.hpp"
#include "moments/activation_moments.hpp"
#include "moments/along_mean.hpp"
#include "moments/along_tokens.hpp"
#include "moments/equal_words.hpp"
#include "moments/gradient.hpp"
#include "moments/norm_variance.hpp"

/// The way back through an activation (docs/theory/layers.md#activation).
namespace scalecalc::moments {

/// `g`: what came to phi, while `out` still follows what that did.
template <class C, class X>
void couple_through_activation(const C& calculus, const ActivationRecord<X>& record,
                               const Alike<double>& g, Gradient<X>& out) {
  SignalCoupling& coupling = *out.coupling;
  const double along = coupling.aligned_square, parallel = coupling.squared_cosine;
  const Passage& passed = record.passage.passage;
  const Alike<double> slopes = values_of(calculus, record.slopes);
  if (slopes.second > 0 && g.second > 0) {
    const double own = values_of(calculus, record.own).second;
    add_aligned(coupling, own * along / (slopes.second * g.second), out.spread);
  }
  coupling.aligned_square = along * record.alignment * record.alignment;
  coupling.slope_excess = 2 * record.slope_exponent;
  coupling.sensitivity = passed.back_slope + coupling.sensitivity * passed.slope;
  const double ratio = slopes.second > 0 ? slopes.cross / slopes.second : 1;
  const double uneven = (record.passage.slope_kurtosis - 1) * ratio * ratio;
  coupling.token_ratio *= ratio;
  coupling.squared_cosine =
      std::min(1.0, parallel * ratio * ratio + uneven * (1 + 2 * parallel) * (1 - parallel) /
                                                   static_cast<double>(record.width));
}

/// One token's times `kept`; that of two tokens of cosine c is between half of it and all, which
/// tokens that are alike have.
template <class X>
X with_follows(const X& x, double kept, double c) {
  using N = typename X::Number;
  const double pair = 1 - (1 - kept) * (1 + c) / 2;
  return each_cross(scaled(x, N(kept)), [&](const N& k) { return N(k * pair / kept); });
}

/// Where phi' is large phi is, and with it the |phi|^2 of n features that a norm above has divided
/// by: E phi'^2/|phi|^2 has -Cov(phi'^2, phi^2)/n, relative to the means. As much is missing where
/// the gradient is not along phi (docs/theory/finite-width.md#along).
template <class C, class X>
Gradient<X> below_size(const C& calculus, const ActivationRecord<X>& record,
                       const Gradient<X>& gradient, Gradient<X> out) {
  out.follows_size = 0;
  const double follows =
      gradient.follows_size + (gradient.coupling ? 0 : 1 - gradient.directions.radial);
  if (follows == 0) return out;
  const double own = values_of(calculus, record.own).second,
               apart = values_of(calculus, record.slopes).second * record.second;
  if (!(apart > 0)) return out;
  const double unit = own / (apart * static_cast<double>(record.width));
  const auto shrunk = [](double lost) { return lost > 0 ? 1 / (1 + lost) : 1 - lost; };
  double lost = follows * unit, kept = shrunk(lost);
  if (const auto values = std::exchange(out.of_values, std::nullopt)) {
    lost -= gradient.follows_size * unit;
    kept = values->slopes * shrunk(lost);
    if (out.slope_correlation)
      out.slope_correlation->product =
          with_follows(out.slope_correlation->product, values->inputs, 0);
  }
  const Alike<double> x = values_of(calculus, out.x), &u = record.passage.x;
  const double c = u.second > 0 ? std::clamp(u.cross / u.second, 0.0, 1.0) : 1;
  out.x = with_follows(out.x, kept, c);
  out.truncation.second += lost * lost;
  if (x.second > 0) out.truncation.cross += std::fabs(lost * x.cross / x.second) * (1 - c) / 2;
  return out;
}

/// Of phi' g along u, whose mean is 0: E u^2 phi'^2/(q E phi'^2), less what of g is missing along
/// phi.
template <class C, class X>
double level_below(const C& calculus, const ActivationRecord<X>& record,
                   const Gradient<X>& gradient) {
  const Alike<double>& u = record.passage.x;
  const double sizes = record.second * values_of(calculus, record.slopes).second;
  if (gradient.coupling || u.mean != 0 || !(sizes > 0)) return 1;
  const double along = record.alignment * record.alignment * u.second / sizes;
  return 1 + 2 * record.slope_exponent - (1 - gradient.directions.radial) * along;
}

/// Of phi'(x_t) phi(x_u) what is along x_u: E x phi phi'/q of a token's own, s = E phi'_t phi'_u of
/// another's. Of a (p - less phi_t) that leaves a s (p - less' x_t).
template <class X>
void align_below(const ActivationRecord<X>& record, Gradient<X>& g) {
  const AlongMean& mean = g.along_mean;
  const double slope = mean ? averaged_tokens(mean, record.slopes).cross : 0;
  g.along_mean = mean_below(mean, record.alignment, slope, g.aligned);
}

/// With these averages: positions have the shares that they had, or equal ones where shares that
/// cancel leave no average.
inline Alike<double> with_averages(const Alike<double>& /*x*/, const Alike<double>& averages) {
  return averages;
}
inline PerPosition with_averages(PerPosition x, const Alike<double>& averages) {
  constexpr double cancelled = 1e-9;
  const Alike<double> before = average(x);
  const auto scale = [](auto& part, double to, double from) {
    if (part.size() == 0) return;
    if (std::fabs(from) > cancelled * part.abs().maxCoeff())
      part *= to / from;
    else
      part.setConstant(to);
  };
  scale(x.second, averages.second, before.second);
  scale(x.cross, averages.cross, before.cross);
  scale(x.between, averages.between, before.between);
  return x;
}

/// Of a gradient that knows the stream it is of, phi' goes with what it knows.
template <class C, class X>
void slopes_of_stream(const C& calculus, const ActivationRecord<X>& record,
                      const Gradient<X>& gradient, Gradient<X>& out) {
  out.of_stream.reset();
  if (!gradient.of_stream && !record.cells) return;
  StreamPassed passed = through_slopes(
      gradient.of_stream ? gradient.of_stream->at : record.cells,
      gradient.of_stream ? &*gradient.of_stream : nullptr, values_of(calculus, gradient.x),
      values_of(calculus, record.slopes),
      record.slope_correlation ? values_of(calculus, record.slope_correlation->product)
                               : Alike<double>{},
      record.passage.x);
  out.x = with_averages(out.x, passed.x);
  if (out.slope_correlation)
    out.slope_correlation->product = with_averages(out.slope_correlation->product, passed.product);
  out.of_stream = std::move(passed.known);
}

template <class C, class X>
Gradient<X> activation_backward(const C& calculus, const ActivationRecord<X>& record,
                                const Gradient<X>& gradient, const Counts& counts) {
  Gradient<X> out = gradient;
  out.x = product(gradient.x, record.slopes);
  out.directions = {};
  out.uneven = out.beyond_pairs = 0;
  out.aligned = typename C::Number(0);
  if constexpr (C::next_orders) {
    out.size_exponent =
        record.slope_exponent + record.passage.passage.slope * gradient.size_exponent;
    out.slope_correlation = record.slope_correlation;
    if (out.slope_correlation)
      out.slope_correlation->product = product(out.slope_correlation->product, gradient.x);
    slopes_of_stream(calculus, record, gradient, out);
    out.aligned = gradient.aligned;
    align_below(record, out);
    if (out.along_tokens) {
      *out.along_tokens = product(*out.along_tokens, record.slopes);
      rescale_own(out, calculus.value(gradient.aligned) * values_of(calculus, record.slopes).second,
                  calculus.value(out.aligned));
    }
    const X known = scaled(by_squares(gradient, products_along(gradient.along_mean, record.own)),
                           typename C::Number(gradient.aligned * gradient.aligned));
    add_along_token(known, out);
    if (gradient.along_mean) {
      // A mean over tokens is no token's own: what it has of them is taken from pairs of tokens.
      const double second = values_of(calculus, out.x).second;
      const double share = second > 0 ? std::fabs(values_of(calculus, known).second) / second : 0;
      out.truncation.second += share;
      out.truncation.cross += share;
    }
    const Alike<double> g = values_of(calculus, gradient.x);
    out = below_size(calculus, record, gradient, std::move(out));
    out.directions.radial = level_below(calculus, record, gradient);
    out.feature_mean = gradient.along_mean ? 0 : gradient.aligned * record.own_mean;
    out.mean_beyond = gradient.along_mean ? 0
                                          : gradient.aligned * record.own_slope_mean -
                                                out.aligned * record.passage.x.mean;
    const RelativeError bound = relative_slope_error(calculus, record);
    out.truncation.second += bound.second;
    if (g.second > 0) out.truncation.cross += bound.cross * std::fabs(g.cross) / g.second;
    const auto width = static_cast<double>(record.width);
    if (record.passage.log_range > 0) {
      out.spread = beyond_lognormal(gradient.spread,
                                    gradient.spread.log_range + record.passage.log_range, 0);
      add_range(out.truncation, out.spread.log_range);
    } else if (gradient.coupling) {
      out.spread = back_through_activation(gradient.spread, *gradient.coupling, record.passage,
                                           width, counts);
    } else {
      out.spread = back_through_activation(gradient.spread, record.passage, g, width, counts);
    }
    if (gradient.spread.log_range > 0)
      out.spread.log_range = std::max(out.spread.log_range, gradient.spread.log_range);
    if (gradient.coupling) couple_through_activation(calculus, record, g, out);
    out.kinds = record.kinds;
    // Features of a small slope have a small scatter, by which the norm above has divided more.
    if (gradient.slope_scatter != 1)
      out.x = scaled(out.x, typename C::Number(std::exchange(out.slope_scatter, 1.0)));
    if (const auto tie = std::exchange(out.tie, std::nullopt)) {
      const Alike<double> taken{0, tie->second, tie->cross, tie->between ? tie->cross : 0};
      const double second = values_of(calculus, out.x).second;
      if (taken.second < second) {
        out.x = sum(out.x, uniform(out.x, scaled(taken, -1)));
      } else {
        // As large as what it is taken from, it is the first term of no expansion.
        out.truncation.second += no_mean;
        out.truncation.cross += no_mean;
      }
    }
    if (gradient.few > 0) {
      // Features without a gradient from above have no slope either.
      out.x = scaled(out.x, typename C::Number(1 / gradient.alive));
      const double few = few_samples_error(gradient.alive, gradient.few) - no_mean;
      out.truncation.second = std::max(0.0, out.truncation.second + few);
      out.truncation.cross = std::max(0.0, out.truncation.cross + few);
      out.alive = 1;
      out.few = 0;
    }
  }
  return out;
}

/// The share `beside` of x, entry by entry, and all of the other.
template <class X>
X with_share(const X& other, const Alike<double>& beside, const X& x) {
  if constexpr (std::is_same_v<typename X::Number, double>) {
    if (beside.second == 0 && beside.cross == 0 && beside.between == 0) return other;
    const Alike<double> all = average(x);
    return sum(other,
               uniform(other, Alike<double>{0, beside.second * all.second, beside.cross * all.cross,
                                            beside.between * all.between}));
  }
  return other;
}

/// Below a max pool's activation, what the largest of its windows make of the gradient.
template <class X>
void take_below_activation(Gradient<X>& out) {
  const auto below = std::exchange(out.below_activation, std::nullopt);
  if (!below) return;
  out.x = with_share(below->x, below->beside, out.x);
  if (!out.slope_correlation) return;
  out.slope_correlation->input = below->slope_correlation.input;
  out.slope_correlation->product =
      with_share(below->slope_correlation.product, below->beside, out.slope_correlation->product);
}

}  // namespace scalecalc::moments
