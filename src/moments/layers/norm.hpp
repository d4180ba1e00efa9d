#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "moments/activation_error.hpp"
#include "moments/constant_samples.hpp"
#include "moments/forward_pass.hpp"
#include "moments/mixture_gradient.hpp"
#include "moments/norm_tokens.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/parameter_gradients.hpp"
#include "scalecalc/error.hpp"

/// Norms over one token's features (norm_tokens.hpp) and over samples (batch, instance:
/// docs/theory/layers.md#norm-samples). Gains are 1 and shifts 0.
namespace scalecalc::moments {

/// Means over the samples of each position, and over all: [m + sum of crosses]/n.
struct SampleMeans {
  Eigen::ArrayXd rows;
  double all = 0;
};
SampleMeans sample_means(const PerPosition& x, const Counts& over);

/// C R C with C = I - 11^T/n.
template <class N>
Alike<N> centred(const Alike<N>& x, const N& tokens, const N& batch) {
  const N mean = row_sum(x, tokens, batch) / (tokens * batch);
  return {N(0), x.second - mean, x.cross - mean, x.between - mean};
}
/// From differences of the state: of samples that are all but alike no sum has them.
inline Alike<double> centred(const Alike<double>& x, double tokens, double batch) {
  const double within = x.second - x.cross, others = (batch - 1) * tokens, all = tokens * batch;
  const double apart = others * (x.cross - x.between);
  return {0, ((all - 1) * within + apart) / all, (apart - within) / all,
          -(within + tokens * (x.cross - x.between)) / all};
}
PerPosition centred(const PerPosition& x, double tokens, double batch);

/// So few dead features no pass sees.
inline constexpr double few_enough = 1e-4;

/// All samples of a feature have the second moment 1 together; how it is shared between those of
/// one sequence and of two is that of Gaussian features, and so is what an epsilon leaves of it.
template <class C, class X>
void omit_sample_scatter(C& calculus, const Norm& layer, const Signal<X>& in, const Counts& counts,
                         const NormRecord<X>& record) {
  const Counts over{counts.tokens, record.over_batch ? counts.batch : 1};
  const SampleLevels& order = record.orders.forward;
  const double size = over_samples(values_of(calculus, in.x), over), all = size + layer.eps;
  // Features that are not Gaussian may differ by as much as they have.
  const double gaussian = record.orders.inverse * (1 + record.by_chance) - 1;
  const double scatter = in.kurtosis == 3 ? gaussian : std::max(1.0, gaussian);
  const double bend = all > 0 ? scatter * size * layer.eps / (all * all) : 0;
  // All samples together have 1, so that what those of one sequence differ by is all that r has.
  const SampleLevels from =
      sample_levels(centred(values_of(calculus, in.x), over.tokens, over.batch), over);
  const double shared =
      over.batch > 1 && all > 0 ? std::fabs(order.within - 1) * from.within / all : 0;
  // Of features without a sample that is not 0, passes have a number that is Poisson's.
  const double dead = 1 - record.alive;
  const double rare = dead * static_cast<double>(in.width) < 1 ? dead : 0;
  // Where samples are all but alike their difference is rounded.
  constexpr double steps = 64;
  const double rounding = size > 0 ? steps * std::numeric_limits<double>::epsilon() *
                                         values_of(calculus, in.x).second / size
                                   : 0;
  // What is made of samples that are not Gaussian any more is off by 1/n.
  const double own = bend + rare + rounding + 1 / over.samples();
  calculus.omit(own, shared + own);
}

/// What tokens about their mean differ by in size, beyond the 2/n of new features: of the variance
/// that tokens do not share, the part of x about the mean, over its square, is 1/(1 - c^2) where x
/// is Gaussian, and no more than 2 V/D^2. A feature's own norm takes (k - 1)/(n - 1) of each
/// difference, k its fourth moment.
template <class X>
double size_variance_apart(const Signal<X>& in, const Alike<double>& x, const Counts& counts,
                           double samples, double size_excess) {
  const double own = 2 / static_cast<double>(in.width), one = in.spread.token_variance,
               shared = between_tokens(one, in.spread.batch_variance, counts);
  const double c = x.second > 0 ? mean_of_pairs(x, counts) / x.second : 1, square = 1 - c * c;
  if (!(square > 0)) return 0;
  double apart = std::max(0.0, (one - shared) / square - own);
  if (in.map_overlap > 0) apart = std::min(apart, 2 * in.map_overlap);
  const double left = std::max(0.0, 1 - (2 + 3 * size_excess) / std::max(samples - 1, 1.0));
  return left * left * apart;
}

/// All samples together have 1 for their second and nothing for their sum, so that crosses within
/// one sequence are known; how the second is shared between sequences is not known any better.
inline RelativeError error_over_samples(const RelativeError& in, const Alike<double>& x,
                                        const Counts& over) {
  const double apart = over_samples(x, over);
  if (over.batch == 1 || !(apart > 0)) return {};
  return {0, std::min(1.0, (in.second + in.cross) * x.second / apart), 0};
}

/// Statistics over samples are of Gaussian features: E 1/s2 is (n - 2)/(n - 3) of 1/E s2 where all
/// samples are alike, so n > 3.
template <class C, class X>
Signal<X> sample_norm(C& calculus, const Norm& layer, const Signal<X>& in, const Counts& counts,
                      NormRecord<X>& record) {
  using N = typename C::Number;
  record.over_samples = true;
  record.projection.d = static_cast<double>(in.width);
  record.over_batch = layer.kind == NormKind::batchnorm;
  if (in.own)
    throw Error(ErrorKind::input, "no rule covers a tied head whose stream is centred over samples",
                layer.path, "layernorm or rmsnorm, or tie_head = false");
  const double samples = counts.tokens * (record.over_batch ? counts.batch : 1);
  if (samples < 4)
    throw Error(ErrorKind::input,
                "a norm over samples has no finite gradient from fewer than 4 of them", layer.path,
                "more tokens, or a larger batch");
  const N tokens = calculus.size(static_cast<std::int64_t>(counts.tokens), "tokens");
  const N batch =
      record.over_batch ? calculus.size(static_cast<std::int64_t>(counts.batch), "batch") : N(1);
  X inside = centred(in.x, tokens, batch);
  const N scale = 1 / (average(inside).second + calculus.real(layer.eps));
  Signal<X> out = in;
  out.overlap = {in.overlap.coherent * scale, in.overlap.noise * scale * scale};
  out.normalised = false;
  out.flat.reset();
  out.x = scaled(inside, scale);
  if (!record.over_batch) out.x = without_between(out.x);
  N back = scale;
  if constexpr (C::next_orders) {
    const Counts over{counts.tokens, record.over_batch ? counts.batch : 1};
    const Alike<double> raw = values_of(calculus, in.x);
    const double whole = calculus.value(in.overlap.variance());
    const double left = whole > 0 ? std::max(0.0, 1 - in.mask_overlap / whole) : 1;
    out.overlap.coherent = out.overlap.coherent * std::sqrt(left);
    out.overlap.noise = out.overlap.noise * share_about_mean(raw) * left;
    out.mask_overlap = 0;
    const SampleLevels from = sample_levels(values_of(calculus, inside), over);
    record.orders = sample_orders(from, over, in.spread.batch_noise);
    const double noise = in.spread.batch_noise;
    // Of what weights have mixed 1/s2 is larger by as much, to first order.
    if (in.map_overlap > 0)
      record.by_chance = 2 * noise * in.map_overlap;
    else if (from.within > 0)
      record.by_chance =
          2 * noise * calculus.value(in.overlap.variance()) / (from.within * from.within);
    const SampleLevels& order = record.orders.forward;
    if (!in.flat) {
      const double taken = noise * size_variance(from, over, in.map_overlap);
      out.kurtosis *= 1 - taken;
      out.size_excess -= taken;
      out.sphere_excess -= noise * size_variance(from, over, 0);
    }
    out.map_overlap = 0;
    out.x =
        at_levels(out.x, order.within,
                  {order.within * scale * from.within, order.between * scale * from.between}, over);
  } else {
    back = back * calculus.real(samples - 2) / calculus.real(samples - 3);
  }
  if constexpr (C::next_orders) {
    if (in.flat) {
      const Counts over{counts.tokens, record.over_batch ? counts.batch : 1};
      const ConstantSamples flat =
          constant_samples(calculus.function(in.flat->first)->activation(), in.flat->second, over);
      record.alive = std::max(1 - flat.all, 1 / static_cast<double>(in.width));
      record.few = flat.few;
      record.rare = flat.few > few_enough && flat.zero_sum;
      record.scatter =
          feature_scatter(calculus.function(in.flat->first)->activation(), in.flat->second, over,
                          record.projection.d, layer.eps, record.orders.inverse);
      const double left_over = record.alive * record.scatter.forward;
      out.x = scaled(out.x, left_over);
      out.overlap = {out.overlap.coherent * left_over, out.overlap.noise * left_over * left_over};
      // 1/s2 of those that are not.
      back = back * record.alive * record.scatter.inverse;
    }
  }
  record.factors = each(out.x, [&](const N&) { return back; });
  const double own_variance = 2 / static_cast<double>(in.width);
  out.spread = {own_variance, 0, 0, 0, 0, 1, in.spread.distance_variance, 0};
  if constexpr (C::next_orders) {
    out.spread.token_variance +=
        size_variance_apart(in, values_of(calculus, in.x), counts, samples, out.size_excess);
  }
  out.spread.skewness = in.spread.skewness;
  out.spread.position_variance = in.spread.position_variance;
  for (RelativeError* bound : {&out.error, &out.truncation})
    *bound = error_over_samples(*bound, values_of(calculus, in.x),
                                {counts.tokens, record.over_batch ? counts.batch : 1});
  calculus.assume("norm over samples", "features are Gaussian over the samples");
  if constexpr (C::next_orders) omit_sample_scatter(calculus, layer, in, counts, record);
  return out;
}

template <class C, class X>
Signal<X> norm_forward(C& calculus, const Norm& layer, const Signal<X>& in, const Counts& counts,
                       NormRecord<X>& record) {
  Signal<X> out = in;
  if (is_token_norm(layer.kind))
    out = token_norm(calculus, layer, in, counts, record);
  else if (layer.kind != NormKind::none)
    out = sample_norm(calculus, layer, in, counts, record);
  else
    record.factors =
        each(in.x, [](const auto& entry) { return typename C::Number(entry * 0 + 1); });
  record.output = out.x;
  if (in.own) {
    out.own = product(*in.own, norm_scale(calculus, layer, in.x));
    if constexpr (C::next_orders) {
      const double second = values_of(calculus, out.x).second;
      if (second > 0) record.own = values_of(calculus, *out.own).second / second;
    }
  }
  return out;
}

/// E[y_t g_t y_u g_u] of an output y. What y has of the sum that the gradient is tied to is known,
/// the rest of y is not seen by it.
template <class X>
X along_output(const X& y, const Gradient<X>& g) {
  if (!g.slope_correlation) return product(y, g.x);
  const auto share = average(y).second / average(g.slope_correlation->input).second;
  const auto square = share * share;
  const X rest = sum(y, scaled(g.slope_correlation->input, -square));
  return without_mean(sum(scaled(g.slope_correlation->product, square), product(rest, g.x)));
}

/// (I - y y^T/n)/s of a centred gradient, and what it takes more where that is tied to y.
template <class C, class X>
X across_samples(const C& calculus, const NormRecord<X>& record, const Gradient<X>& gradient,
                 const X& inside, const Counts& over) {
  const double scale = average(record.factors).second, samples = over.samples();
  const double radial = gradient.directions.samples;
  SampleLevels to = record.orders.back(sample_levels(values_of(calculus, inside), over), radial);
  if (gradient.slope_correlation) {
    const X more =
        sum(along_output(record.output, gradient), scaled(product(record.output, gradient.x), -1));
    const double taken = pair_sum(more, over.tokens, over.batch) / (samples * samples);
    const SampleLevels along = sample_levels(values_of(calculus, record.output), over);
    to.within -= along.within * taken;
    to.between -= along.between * taken;
  }
  return at_levels(scaled(inside, scale), record.orders.within(radial),
                   {scale * to.within, scale * to.between}, over);
}

/// What a gradient has along the output by the token's own word.
template <class X>
OwnWord own_at(const NormRecord<X>& record, const Gradient<X>& gradient) {
  OwnWord own = gradient.own;
  own.along = own.word * record.own;
  return own;
}
template <class N>
N with_own(const N& aligned, const OwnWord& own) {
  if constexpr (std::is_same_v<N, double>) return aligned + own.along;
  return aligned;
}

/// Of two tokens, what the norm leaves beside what it leaves of weights'; `whole`: all along x.
template <class X>
X across_words(const X& output, const typename X::Number& whole, const OwnWord& own, X across) {
  if constexpr (std::is_same_v<typename X::Number, double>) {
    using T = Token<double>;
    if (own.along == 0) return across;
    const double scatter = own.scatter * own.along * own.along;
    const X more = map(
        output,
        [&](const T& u) {
          return T{0, -scatter * u.second};
        },
        [&](const T& t, const T& u, double cross) {
          const double size = std::sqrt(t.second * u.second);
          return 2 * whole * own.along * (cross - own.same * size) - own.same * scatter * size;
        });
    return sum(across, more);
  }
  return across;
}

/// What of the gradient is along the output, a norm takes out exactly.
template <class C, class X>
Gradient<X> norm_backward(C& calculus, const NormRecord<X>& record, const Gradient<X>& gradient,
                          const typename C::Number& tokens, const typename C::Number& batch) {
  using N = typename C::Number;
  const OwnWord own = own_at(record, gradient);
  const N whole = with_own(gradient.aligned, own), along = whole * whole;
  Gradient<X> out = gradient;
  out.aligned = N(0);
  out.own = {};
  if constexpr (C::next_orders) {
    // Of w e + a x the norm leaves w e and, along the stream, what it took of that.
    const double scale = values_of(calculus, record.factors).second;
    out.own.word = own.word * std::sqrt(scale);
    out.aligned = -own.along * scale;
    // Over samples a norm takes out what multiplies each feature's own x.
    out.uneven = record.over_samples ? 0 : gradient.uneven * scale * scale;
  }
  const X across = across_words(record.output, whole, own,
                                sum(gradient.x, scaled(without_mean(record.output), N(-along))));
  out.follows_size = record.over_samples ? 0 : record.projection.w;
  out.of_values = record.values;
  if (!record.over_samples) {
    out.x = projected(calculus, record.projection, record.output, gradient.directions,
                      product(across, record.factors));
    out.directions.radial = 0;
    if (record.projection.layernorm) out.directions.mean = 0;
    if constexpr (C::next_orders) {
      if (record.values) {
        // The average over a draw's tokens varies by as much. No square of an average is above the
        // average of squares: steps of the integrals are off by `by_steps`, and by more where the
        // values are nearly always all the same, so that nothing is known.
        constexpr double by_steps = 1e-3;
        const double excess = record.values->square - 1;
        const double tail =
            excess < -by_steps
                ? no_mean
                : std::min(no_mean, std::max(excess, 0.0) / calculus.value(tokens * batch));
        out.truncation.second += tail;
        out.truncation.cross += tail;
      }
      if (record.few_tokens > few_enough) {
        out.truncation.second += no_mean;
        out.truncation.cross += no_mean;
        calculus.assume("norm", "dropout leaves tokens three features or more",
                        "tokens of a pass with fewer", record.few_tokens, few_enough);
      }
    }
    return out;
  }
  out.directions = {};
  const N sequences = record.over_batch ? batch : N(1);
  out.directions.samples = 0;
  out.tie.reset();
  X inside = centred(across, tokens, sequences);
  if (!record.over_batch) inside = without_between(inside);
  if constexpr (C::next_orders) {
    out.x = across_samples(calculus, record, gradient, inside,
                           {calculus.value(tokens), calculus.value(sequences)});
    if (record.alive < 1 - few_enough || record.rare) {
      // Dead features hand nothing on; E 1/s2 of those with one sample or two does not exist.
      out.x = scaled(out.x, record.alive);
      out.alive = record.alive;
      out.few = record.few;
      out.truncation.second += no_mean;
      out.truncation.cross += no_mean;
    } else {
      out.truncation.second += 2 * record.few;
    }
    out.slope_scatter = record.scatter.slopes;
    if (record.scatter.tie) {
      const double samples = calculus.value(tokens) * calculus.value(sequences);
      const double level = values_of(calculus, inside).second - values_of(calculus, inside).cross;
      const double taken = gradient.directions.samples * record.orders.inverse *
                           values_of(calculus, record.factors).second * level / samples;
      out.tie = SlopeTie{taken * record.scatter.tie->second, taken * record.scatter.tie->cross,
                         record.over_batch};
    }
    // A draw's average over features varies by as much.
    const double tail = std::min(no_mean, record.scatter.tail / record.projection.d);
    out.truncation.second += record.by_chance + tail;
    const Alike<double> x = values_of(calculus, out.x);
    if (x.second > 0)
      out.truncation.cross += (record.by_chance + tail) * std::fabs(x.cross) / x.second;
    calculus.assume("norm", "two samples overlap by as much in every draw", "2 V/D^2",
                    record.by_chance, 0.1);
  } else {
    out.x = product(inside, record.factors);
  }
  return out;
}

template <class C, class X>
struct Kept<Norm, C, X> {
  Places at;
  NormRecord<X> record;
  NormVariance spread;       ///< of the input
  RelativeError truncation;  ///< of the input
  RelativeError output_truncation;
  OverlapDeviation overlap{};  ///< of the output
};

/// A norm that closes a residual shows at the residual's path, as of its kind.
template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Norm& layer, Signal<X> x,
                       const std::string& path, const char* kind) {
  C& calculus = pass.calculus();
  calculus.enter(path);
  Kept<Norm, C, X> kept;
  kept.spread = x.spread;
  kept.truncation = x.truncation;
  if constexpr (C::next_orders) {
    // Over samples it is the difference that is divided by.
    const Alike<double> in = values_of(calculus, x.x);
    const double apart = over_samples(in, pass.counts(x));
    const bool samples = !is_token_norm(layer.kind) && layer.kind != NormKind::none;
    if (samples && apart > 0)
      kept.truncation.second = std::min(no_mean, x.truncation.second * in.second / apart);
  }
  Signal<X> y = norm_forward(calculus, layer, x, pass.counts(x), kept.record);
  if constexpr (C::next_orders) kept.overlap = overlap_deviation(calculus, y);
  kept.at = {pass.site(path, kind, y), 0, x.tokens};
  kept.output_truncation = y.truncation;
  if (layer.affine) {
    kept.at.parameter =
        pass.parameter(layer.path, ".gain", 1, layer.width, layer.gain_offset ? 0 : 1);
    pass.parameter(layer.path, ".shift", 1, layer.width, 0);
  }
  pass.template keep<Norm>(std::move(kept));
  return y;
}
template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Norm& layer, Signal<X> x) {
  return forward_step(pass, layer, std::move(x), layer.path, "norm");
}

/// Of a gain, what a gradient along the output y adds: a sum y_t^2 has a mean, where along_output
/// takes y and its gradient for independent.
template <class C, class X>
typename C::Number aligned_gain(const BackwardPass<C, X>& pass, const X& y, const Gradient<X>& g,
                                const typename C::Number& aligned,
                                const typename C::Number& tokens) {
  using N = typename C::Number;
  const N total = average(y).second * tokens * pass.batch();
  if (g.slope_correlation) return g.aligned * g.aligned * total * total;
  const N pairs = pair_sum(product(y, y), tokens, pass.batch());
  const N whole = aligned * aligned * (total * total + pairs);
  if constexpr (C::next_orders)
    return whole + g.uneven * (total * total + 2 * pairs);  // E (sum y^2)^2
  return whole;
}

/// The gain and the shift; `whole`: all of the gradient at the output, g what goes through here.
template <class C, class X>
void fill_affine(BackwardPass<C, X>& pass, const Kept<Norm, C, X>& kept, const Gradient<X>& whole,
                 const Gradient<X>& g) {
  using N = typename C::Number;
  const N tokens = pass.tokens(kept.at.tokens);
  const X& y = kept.record.output;
  N drawn = pair_sum(along_output(y, whole), tokens, pass.batch());
  if constexpr (C::next_orders) {
    // A feature's y_t y_u is a part of the overlap that g_t g_u follows; aligned_gain has that of
    // the loss.
    const bool of_branch = is_tied(pass.network()) && whole.own.word == 0;
    if (pass.calculus().value(whole.aligned) == 0 || of_branch)
      drawn = pass.calculus().positive(N(
          drawn + overlap_covariance(whole.slopes, kept.overlap, 1, pass.counts(kept.at.tokens))));
    if (kept.record.over_samples) drawn = drawn * whole.directions.samples;
  }
  const N along = with_own(whole.aligned, own_at(kept.record, whole));
  fill(pass, kept.at.parameter, drawn + aligned_gain(pass, y, whole, along, tokens), g, {});
  fill(pass, kept.at.parameter + 1, bias_of(pass, whole.x, kept.at.tokens), g, {});
  const Counts over = pass.counts(kept.at.tokens);
  if (kept.record.over_samples) {
    for (const std::size_t at : {kept.at.parameter, kept.at.parameter + 1})
      pass.parameter(at).truncation += sum_error(pass.calculus(), g, over);
  } else if constexpr (C::next_orders) {
    pass.parameter(kept.at.parameter).truncation =
        product_error(pass.calculus(), y, kept.output_truncation, g, over);
    pass.parameter(kept.at.parameter + 1).truncation =
        product_error(pass.calculus(), each(y, [](const N&) { return N(1); }), {}, g, over);
  }
}

/// k = (k' - aligned^2 r')/(s_t s_u). `shown`: the gradient at the norm's site where g is but a
/// part of it.
template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Norm& layer, Gradient<X> g,
                          const Gradient<X>* shown = nullptr) {
  C& calculus = pass.calculus();
  const auto kept = pass.template take<Norm>();
  const NormRecord<X>& record = kept.record;
  const Gradient<X>& whole = shown ? *shown : g;
  pass.note(kept.at.site, whole);
  if (layer.affine) fill_affine(pass, kept, whole, g);
  Gradient<X> out = norm_backward(calculus, record, g, pass.tokens(kept.at.tokens), pass.batch());
  if constexpr (C::next_orders) {
    const double scale = values_of(calculus, record.factors).second;
    out.slopes = with_part_along(g.slopes, own_at(record, g).slope_across(g.aligned), kept.overlap);
    out.slopes = through_map(out.slopes, scale, scale);
    scale_kinds(
        calculus, out,
        below_norm(record.mixture_norm, record.kind_weight, g.directions.radial, out.kinds));
  }
  out.slope_correlation.reset();
  const Alike<double> x = values_of(calculus, out.x);
  const double cross = x.second > 0 ? std::min(1.0, std::fabs(x.cross) / x.second) : 1;
  out.truncation.second += kept.truncation.second + record.truncation;
  out.truncation.cross += (kept.truncation.second + record.truncation) * cross;
  out.spread.token_variance += kept.spread.token_variance;
  out.spread.batch_variance += kept.spread.batch_variance;
  if constexpr (C::next_orders)
    covariance_through_norm(out.log_covariance,
                            kept.spread.batch_variance + kept.spread.distance_response);
  return out;
}

}  // namespace scalecalc::moments
