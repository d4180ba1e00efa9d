#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "moments/modulated.hpp"
#include "moments/weight_matrix.hpp"
#include "scalecalc/error.hpp"

/// y = x (1 + s) + t and y = x s of maps of the condition (docs/theory/layers.md#modulation).
namespace scalecalc::moments {

template <class C, class X>
struct Kept<Modulation, C, X> {
  Places at, factor, shift;
  X input;  ///< x
  SampleFactors<typename C::Number> of;
  WeightInput<X> condition;
  OverlapDeviation overlap{};    ///< of x
  NonNegative sizes = 0;         ///< relative variance of |y|^2 that s and t make
  NonNegative of_condition = 0;  ///< of |c|^2, which all factors and shifts follow
  NonNegative of_samples = 0;    ///< of its average over samples
  double follows = 0;            ///< d ln E y^2/d ln |c|^2 of x u + t
  double before = 0;             ///< the same of x
};

/// What s and t make |y|^2 of a token, and of the average over tokens, vary by, relative; x.x of
/// what comes in apart. x, s and t are Gaussian.
struct SizesOfFactors {
  double one = 0, all = 0;
};
inline SizesOfFactors sizes_of_factors(const SampleFactors<double>& of, const Alike<double>& x,
                                       double width, const Counts& counts) {
  const double p = of.square(), m = x.second, shift = of.shift.second, size = p * m + shift;
  if (!(size > 0)) return {};
  const double fourth = p * p + of.beyond();
  // Cov(y_t^2, y_u^2) less p^2 2 r^2, which x has; of two sequences of one sample's factors each.
  const auto within = [&](double r) {
    return (fourth - p * p) * m * m + 2 * (fourth - p * p) * r * r + 4 * p * r * shift +
           2 * shift * shift;
  };
  const double p_b = of.square_between(), between = x.between;
  const double two = of.covariance_between() * m * m +
                     2 * (of.beyond_between()) * between * between +
                     4 * p_b * between * of.shift.between + 2 * of.shift.between * of.shift.between;
  const double sum =
      within(m) + (counts.tokens - 1) * within(x.cross) + (counts.batch - 1) * counts.tokens * two;
  const double by = width * size * size;
  return {within(m) / by, std::max(0.0, sum / counts.samples()) / by};
}

/// Of a branch's output, how it follows |c|^2: as the input of the branch does.
template <class C, class X>
Signal<X> modulated_signal(ForwardPass<C, X>& pass, const Modulation& layer, const Signal<X>& in,
                           const Signal<X>& condition, const RelativeError& of_factor,
                           const RelativeError& of_shift, Kept<Modulation, C, X>& kept) {
  using N = typename C::Number;
  C& calculus = pass.calculus();
  const SampleFactors<N>& of = kept.of;
  Signal<X> out = in;
  out.normalised = out.sinusoids = false;
  out.flat.reset();
  out.law.reset();
  if (layer.shift) out.none = 0;
  out.x = modulated(of, in.x, of.base);
  const N p = of.square();
  out.overlap = {in.overlap.coherent * p, in.overlap.noise * p * p};
  if constexpr (C::next_orders) {
    const Alike<double> x = values_of(calculus, in.x);
    const double width = static_cast<double>(in.width), square = p * x.second,
                 total = square + of.shift.second;
    const double share = total > 0 ? square / total : 0,
                 of_c = p > 0 ? share * (of.factor.second / p) : 0,
                 rest = total > 0 ? 1 - share : 0;
    const double beyond = of.beyond();
    const SizesOfFactors sizes = sizes_of_factors(of, x, width, pass.counts(in));
    kept.sizes = sizes.one;
    kept.of_condition = condition.spread.token_variance;
    kept.of_samples = condition.spread.batch_variance;
    kept.before = in.by_condition;
    kept.follows = of_c + rest;
    if (!layer.shift)
      out.x = scaled(out.x, product_of_powers(kept.of_condition, kept.follows, in.by_condition));
    out.by_condition = share * in.by_condition + kept.follows;
    out.kurtosis = total > 0
                       ? (in.kurtosis * (p * p + beyond) * x.second * x.second +
                          6 * square * of.shift.second + 3 * of.shift.second * of.shift.second) /
                             (total * total)
                       : 3;
    out.fresh = in.fresh * (p * p + beyond);
    out.mask_overlap *= p * p;
    out.mean_pairs *= of.base * of.base;
    out.overlap.noise += beyond * (x.second - x.cross) * (x.second - x.cross) / width;
    NormVariance& spread = out.spread;
    const double more = kept.follows * kept.follows * kept.of_condition,
                 more_all = kept.follows * kept.follows * condition.spread.batch_variance;
    spread.token_variance = share * share * in.spread.token_variance + sizes.one + more;
    spread.batch_variance = std::min<double>(
        share * share * in.spread.batch_variance + sizes.all + more_all, spread.token_variance);
    spread.distance_variance += sizes.all + more_all;
    spread.susceptibility *= share;
    const auto mixed = [&](const RelativeError& own, const RelativeError& factor,
                           const RelativeError& shift) {
      const double s = of_c * factor.second + rest * shift.second;
      return RelativeError{share * own.second + s, share * own.cross + s, own.mean};
    };
    out.error = mixed(in.error, {}, {});
    out.truncation = mixed(in.truncation, of_factor, of_shift);
    // An activation of the branch goes by another power than its input.
    const double power =
        layer.shift ? 0 : product_of_powers(kept.of_condition, kept.follows, in.by_condition) - 1;
    out.truncation.second += power;
    out.truncation.cross += power;
  }
  return out;
}

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Modulation& layer, Signal<X> x) {
  using N = typename C::Number;
  C& calculus = pass.calculus();
  if (pass.condition() == nullptr)
    throw Error(ErrorKind::input, "there is no condition that it could read", layer.path,
                "put a condition before it");
  const Signal<X>& c = *pass.condition();
  Kept<Modulation, C, X> kept;
  calculus.enter(layer.path);
  settle(x);
  const Counts counts = pass.counts(c);
  const auto map_of = [&](const Linear& linear, Places& at, RelativeError& truncation) {
    Signal<X> made = linear_forward(calculus, linear, c, counts);
    at = {pass.site(linear.path, "linear", made), note_weights(pass, linear), 1};
    truncation = made.truncation;
    return average(made.x);
  };
  RelativeError of_factor, of_shift;
  kept.of.base = N(layer.shift ? 1 : 0);
  kept.of.factor = map_of(layer.factor, kept.factor, of_factor);
  if (layer.shift) kept.of.shift = map_of(*layer.shift, kept.shift, of_shift);
  calculus.enter(layer.path);
  Signal<X> y = modulated_signal(pass, layer, x, c, of_factor, of_shift, kept);
  kept.at = {pass.site(layer.path, "modulation", y), 0, x.tokens};
  kept.condition = {c.x, c.spread, c.truncation, {}, 1, {}};
  if constexpr (C::next_orders) {
    kept.condition.overlap = overlap_deviation(calculus, c);
    kept.overlap = overlap_deviation(calculus, x);
  }
  kept.input = std::move(x.x);
  pass.template keep<Modulation>(std::move(kept));
  return y;
}

/// Of the sum over a sample's tokens of what comes to s, x_t g_t, or to t, g_t; `before`: d ln E
/// x^2/d ln |c|^2.
template <class C, class X>
Gradient<X> sample_gradient(const BackwardPass<C, X>& pass, const Kept<Modulation, C, X>& kept,
                            const Gradient<X>& g, const X& input, double before,
                            const SampleSums<typename C::Number>& of,
                            const typename C::Number& aligned) {
  using N = typename C::Number;
  const C& calculus = pass.calculus();
  const N own = calculus.positive(of.own);
  Gradient<X> made;
  made.x = uniform(kept.condition.x, Alike<N>{N(0), own, own, of.between});
  made.spread = g.spread;
  made.error = g.error;
  made.truncation = g.truncation;
  made.aligned = aligned;
  if constexpr (C::next_orders) {
    const Counts all = pass.counts(kept.at.tokens);
    made.x = with_bounded_cross(made.x);
    made.truncation.second = product_error(calculus, input, {}, g, {all.tokens, 1});
    // Both follow |c|^2 where a branch does.
    made.by_condition = g.by_condition + before;
    made.x = scaled(made.x, product_of_powers(kept.of_condition, g.by_condition, before));
    made.truncation.second += kept.sizes;
    made.truncation.cross = made.truncation.second;
    const double varies = variance_of_product(g.log_covariance, values_of(calculus, input),
                                              values_of(calculus, g.x), all);
    made.log_covariance.value.setConstant(std::max(0.0, varies));
  }
  return made;
}

/// Of s: beside what x_t and g_t have apart, of a gradient a y along y = x u + t the sum a (u sum
/// x_t^2 + t sum x_t) has a mean.
template <class C, class X>
Gradient<X> factor_gradient(const BackwardPass<C, X>& pass, const Kept<Modulation, C, X>& kept,
                            const Gradient<X>& g) {
  using N = typename C::Number;
  const N tokens = pass.tokens(kept.at.tokens);
  const bool several = pass.network().batch > 1;
  const X& x = kept.input;
  SampleSums<N> sums = sample_sums(x, g.x, tokens, several);
  const SampleSums<N> squares = sample_sums(product(x, x), tokens, several);
  const N total = average(x).second * tokens, a2 = g.aligned * g.aligned, p = kept.of.square(),
          p_b = kept.of.square_between();
  sums.own = sums.own + a2 * p * (total * total + squares.own);
  if (several) sums.between = sums.between + a2 * p_b * (total * total + squares.between);
  if constexpr (C::next_orders) {
    sums.own += g.uneven * p * (total * total + 2 * squares.own);
    if (several) sums.between += g.uneven * p_b * (total * total + 2 * squares.between);
    // A feature's x_t x_u is a part of the overlap that g_t g_u follows.
    sums.own +=
        overlap_covariance(g.slopes, kept.overlap, p, {static_cast<double>(kept.at.tokens), 1});
    sums.own = pass.calculus().positive(sums.own + g.beyond_pairs / pass.batch());
  }
  return sample_gradient(pass, kept, g, x, kept.before, sums, N(g.aligned * total));
}

/// What a map of the condition hands on is added to what others have.
template <class C, class X>
void add_to_condition(BackwardPass<C, X>& pass, const Kept<Modulation, C, X>& kept,
                      const Linear& layer, const Places& at, const Gradient<X>& g) {
  C& calculus = pass.calculus();
  pass.note(at.site, g);
  fill_weights(pass, layer, at.parameter, kept.condition, g);
  if constexpr (C::next_orders) {
    auto& record = pass.parameter(at.parameter);
    record.gradient *= product_of_powers(kept.of_condition, 1, g.by_condition);
  }
  Gradient<X> more = through_weights(pass, layer, kept.condition, g);
  std::optional<Gradient<X>>& sum_so_far = pass.condition();
  if (!sum_so_far) {
    sum_so_far = std::move(more);
    return;
  }
  Gradient<X>& all = *sum_so_far;
  if constexpr (C::next_orders) {
    const double before = values_of(calculus, all.x).second,
                 own = values_of(calculus, more.x).second, total = before + own,
                 share = total > 0 ? own / total : 0;
    all.error = mixed_error(all.error, more.error, share);
    all.truncation = mixed_error(all.truncation, more.truncation, share);
    all.log_covariance.value =
        share * more.log_covariance.value + (1 - share) * all.log_covariance.value;
    all.slopes = all.slopes + more.slopes;
    all.uneven += more.uneven;
  }
  // Along c the maps of all give back what is of one sign; the rest is independent.
  all.x = sum(sum(all.x, more.x), scaled(without_mean(kept.condition.x),
                                         typename C::Number(2 * all.aligned * more.aligned)));
  all.aligned = all.aligned + more.aligned;
}

/// u g: of a gradient with a part a y comes a u (x u + t), along x a E u^2.
template <class C, class X>
Gradient<X> input_gradient(const BackwardPass<C, X>& pass, const Kept<Modulation, C, X>& kept,
                           Gradient<X> g) {
  using N = typename C::Number;
  const C& calculus = pass.calculus();
  const SampleFactors<N>& of = kept.of;
  const N p = of.square(), p_b = of.square_between(), a2 = g.aligned * g.aligned;
  const X along =
      scaled_by_kind(without_mean(kept.input), N(a2 * of.beyond()), N(a2 * of.beyond_between()));
  g.x = scaled_by_kind(g.x, p, p_b);
  g.directions = {};
  g.mean_beyond = 0;
  g.beyond_pairs = 0;
  if constexpr (C::next_orders) {
    add_along_token(along, g);
    const double more = a2 * of.beyond();
    g.slopes = with_part_along(through_map(g.slopes, p, p), more, kept.overlap);
    g.uneven = g.uneven * (p * p + of.beyond()) + more;
    const double of_c = p > 0 ? of.factor.second / p : 0;
    g.x = scaled(g.x, product_of_powers(kept.of_condition, of_c, g.by_condition));
    const double beyond = beyond_powers(kept.of_condition, of_c, g.by_condition);
    g.by_condition += of_c;
    // Inside a branch inputs and gradients follow |c|^2 both.
    const double inside =
        std::fabs(product_of_powers(kept.of_condition, kept.before, g.by_condition) - 1);
    g.truncation.second += kept.sizes + inside + beyond;
    g.truncation.cross += kept.sizes + inside + beyond;
    const double fourth = p > 0 ? (p * p + of.beyond()) / (p * p) : 1;
    covariance_through_slopes(
        g.log_covariance,
        {{0, p, p, p_b}, of.factor, fourth, 0, static_cast<double>(pass.stream_width())},
        values_of(calculus, g.x), pass.counts(kept.at.tokens));
    covariance_through_norm(g.log_covariance, of_c * of_c * kept.of_samples);
  } else {
    g.x = sum(g.x, along);
  }
  g.aligned = g.aligned * p;
  return g;
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Modulation& layer, Gradient<X> g) {
  using N = typename C::Number;
  const auto& kept = pass.template take<Modulation>();
  pass.note(kept.at.site, g);
  if (layer.shift) {
    const N tokens = pass.tokens(kept.at.tokens);
    const X ones = each(g.x, [](const N&) { return N(1); });
    const Gradient<X> of_shift =
        sample_gradient(pass, kept, g, ones, 0, sample_sums(g.x, tokens, pass.network().batch > 1),
                        N(g.aligned * tokens));
    add_to_condition(pass, kept, *layer.shift, kept.shift, of_shift);
  }
  add_to_condition(pass, kept, layer.factor, kept.factor, factor_gradient(pass, kept, g));
  return input_gradient(pass, kept, std::move(g));
}

}  // namespace scalecalc::moments
