#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "moments/activation_error.hpp"
#include "moments/along_mean.hpp"
#include "moments/forward_pass.hpp"
#include "moments/mixture_gradient.hpp"
#include "moments/norm_tokens.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/parameter_gradients.hpp"
#include "moments/sample_norm.hpp"
#include "scalecalc/error.hpp"

/// Norms over one token's features (norm_tokens.hpp) and over samples (sample_norm.hpp). Gains are
/// 1 and shifts 0.
namespace scalecalc::moments {

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
  out.along_mean = left_by_norm(gradient.along_mean, record.output);
  out.own = {};
  if constexpr (C::next_orders) {
    // Of w e + a x the norm leaves w e and, along the stream, what it took of that.
    const double scale = values_of(calculus, record.factors).second;
    out.own.word = own.word * std::sqrt(scale);
    out.aligned = out.along_mean ? gradient.aligned * scale : -own.along * scale;
    // Over samples a norm takes out what multiplies each feature's own x.
    out.uneven = record.over_samples ? 0 : gradient.uneven * scale * scale;
  }
  X across = across_words(
      record.output, whole, own,
      sum(gradient.x,
          scaled(taken_by_norm(gradient.along_mean, out.along_mean, record.output), N(-along))));
  if constexpr (C::next_orders) {
    const double mean = std::exchange(out.feature_mean, 0.0), taken = -mean * mean;
    if (mean != 0 && record.projection.layernorm)
      across = sum(across, uniform(across, Alike<double>{0, taken, taken, taken}));
  }
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

/// Of a NormVariance, what a norm's way back asks for.
struct NormedSpread {
  NonNegative token_variance = 0, batch_variance = 0, distance_response = 0;
};

template <class C, class X>
struct Kept<Norm, C, X> {
  Places at;
  NormRecord<X> record;
  NormedSpread spread;       ///< of the input
  RelativeError truncation;  ///< of the input
  RelativeError output_truncation;
  OverlapDeviation overlap{};  ///< of the output
  Alike<double> heavy{};       ///< of the output, where there is a gain: heavy_pairs
};

/// E y_t^2 y_u^2 of one feature of an output y beyond (E y^2)^2 + 2 (E y_t y_u)^2, which Gaussian
/// features have (docs/theory/layers.md#norm-gain): of one token, and of pairs. Right behind an
/// activation phi it is known, less what a mean that is taken out changes in pairs; of a sum the
/// fourth cumulant is, and that of pairs goes as c^2.
template <class C, class X>
Alike<double> heavy_pairs(C& calculus, const Norm& layer, const Signal<X>& in, const X& output) {
  const Alike<double> y = values_of(calculus, output);
  if (!is_token_norm(layer.kind) || !(y.second > 0)) return {};
  const double square = y.second * y.second;
  const bool centre = layer.kind == NormKind::layernorm;
  double own = in.kurtosis - 3;
  if (in.flat && !in.flat->gate && in.mixture.plain()) {
    const Alike<double>& u = in.flat->input;
    const double q = u.second - u.mean * u.mean;
    if (!(q > 0)) return {};
    const WidthMoments& phi = calculus.width(calculus.function(in.flat->function), u.mean, q);
    if (!centre) {
      const auto pair = [&](double r, double cross) {
        const double c = std::clamp((r - u.mean * u.mean) / q, -1.0, 1.0);
        return square * phi.covariance(c) - 2 * cross * cross;
      };
      return {0, square * (phi.kurtosis - 3), pair(u.cross, y.cross), pair(u.between, y.between)};
    }
    own = phi.centred_kurtosis - 3;
  }
  // Of a mean all pairs have the -2 mu^4 that one token has.
  const double of_mean = -2 * std::pow(y.mean * y.mean / y.second, 2);
  const double independent = (own - of_mean) / in.mixture.square();
  const auto pair = [&](double cross) { return of_mean * square + independent * cross * cross; };
  return {0, own * square, pair(y.cross), pair(y.between)};
}

/// A norm that closes a residual shows at the residual's path, as of its kind.
template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Norm& layer, Signal<X> x,
                       const std::string& path, const char* kind) {
  C& calculus = pass.calculus();
  calculus.enter(path);
  Kept<Norm, C, X> kept;
  kept.spread = {x.spread.token_variance, x.spread.batch_variance, x.spread.distance_response};
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
  if constexpr (C::next_orders) {
    kept.overlap = overlap_deviation(calculus, y);
    kept.overlap.noise += y.fresh;
  }
  kept.at = {pass.site(path, kind, y), 0, x.tokens};
  kept.output_truncation = y.truncation;
  if (layer.affine) {
    if constexpr (C::next_orders) kept.heavy = heavy_pairs(calculus, layer, x, kept.record.output);
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
typename C::Number aligned_gain(const BackwardPass<C, X>& pass, const Kept<Norm, C, X>& kept,
                                const Gradient<X>& g, const typename C::Number& aligned,
                                const typename C::Number& tokens) {
  using N = typename C::Number;
  const X& y = kept.record.output;
  const N total = average(y).second * tokens * pass.batch();
  if (g.slope_correlation) return g.aligned * g.aligned * total * total;
  const N pairs = pair_sum(product(y, y), tokens, pass.batch());
  const N whole = aligned * aligned * (total * total + pairs);
  if constexpr (C::next_orders) {
    const double heavy = pair_sum(kept.heavy, tokens, pass.batch());
    // E (sum y^2)^2; the other of the two pairs is in what is drawn.
    return pass.calculus().positive(
        N(whole + aligned * aligned * heavy + g.uneven * (total * total + 2 * pairs + heavy)));
  }
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
  const N along =
      share_along(whole.along_mean, y) * with_own(whole.aligned, own_at(kept.record, whole));
  fill(pass, kept.at.parameter, drawn + aligned_gain(pass, kept, whole, along, tokens), g, {});
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

/// What a norm multiplies the overlaps of two tokens by, E 1/s^2 of either: of tokens in two kinds,
/// those of the others.
template <class X>
double pair_scale(const X& factors) {
  if constexpr (std::is_same_v<X, PerPosition>) {
    const Eigen::Index last = factors.second.size() - 1;
    if (factors.positions->kinds) return factors.cross(last, last);
  }
  return average(factors).second;
}

/// k = (k' - aligned^2 r')/(s_t s_u). `shown`: the gradient at the norm's site where g is but a
/// part of it.
template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Norm& layer, Gradient<X> g,
                          const Gradient<X>* shown = nullptr) {
  C& calculus = pass.calculus();
  const auto& kept = pass.template take<Norm>();
  const NormRecord<X>& record = kept.record;
  if (record.over_samples && g.along_mean) {
    // A mean over tokens lies across what a norm of features over samples takes: it is random
    // there.
    g.aligned = typename C::Number(0);
    g.along_mean = {};
  }
  const Gradient<X>& whole = shown ? *shown : g;
  pass.note(kept.at.site, whole);
  if (layer.affine) fill_affine(pass, kept, whole, g);
  Gradient<X> out = norm_backward(calculus, record, g, pass.tokens(kept.at.tokens), pass.batch());
  if constexpr (C::next_orders) {
    const double scale = pair_scale(record.factors);
    out.slopes = with_part_along(g.slopes, own_at(record, g).slope_across(g.aligned), kept.overlap,
                                 g.along_mean);
    if (!record.over_samples)
      out.slopes = projected(record.projection, values_of(calculus, record.output), g.directions,
                             out.slopes);
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
