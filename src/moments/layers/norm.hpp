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
#include "moments/heavy_pairs.hpp"
#include "moments/kept_input.hpp"
#include "moments/layers/dyt.hpp"
#include "moments/mixture_gradient.hpp"
#include "moments/multiplied.hpp"
#include "moments/norm_backward.hpp"
#include "moments/norm_positions.hpp"
#include "moments/norm_tokens.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/own_word.hpp"
#include "moments/parameter_gradients.hpp"
#include "moments/sample_norm.hpp"
#include "scalecalc/error.hpp"

/// Norms over one token's features (norm_tokens.hpp) and over samples (sample_norm.hpp). Gains are
/// 1 and shifts 0; a scale multiplies what leaves them, and what comes back to them
/// (docs/theory/layers.md#norm-scale).
namespace scalecalc::moments {

/// E x u/s of a norm: of the s of the u that it divides E x u falls as s^2 does, so that E s is
/// left of it.
template <class C, class X>
void input_through_norm(C& calculus, const Norm& layer, const Signal<X>& in, const Counts& counts,
                        const NormRecord<X>& record, Signal<X>& out) {
  using N = typename C::Number;
  using std::sqrt;
  std::vector<WithInput<X>> made = *in.with_inputs;
  for (WithInput<X>& one : made) {
    if (!record.over_samples) {
      one.product = product(one.product, norm_scale(calculus, layer, in.x));
      if constexpr (C::next_orders)
        one.product = scaled(one.product, mean_root(in.spread.token_variance));
      continue;
    }
    const N tokens = calculus.size(static_cast<std::int64_t>(counts.tokens), "tokens");
    const N batch =
        record.over_batch ? calculus.size(static_cast<std::int64_t>(counts.batch), "batch") : N(1);
    const X inside = centred(in.x, tokens, batch);
    one.product = scaled(centred(one.product, tokens, batch),
                         N(1 / sqrt(N(average(inside).second + calculus.real(layer.eps)))));
    if (!record.over_batch) one.product = without_between(one.product);
    if constexpr (C::next_orders) {
      const Counts over{counts.tokens, record.over_batch ? counts.batch : 1};
      const double taken =
          in.spread.batch_noise *
          size_variance(sample_levels(values_of(calculus, inside), over), over, in.map_overlap);
      // Of features right behind an activation s^2 varies by what its fourth moment adds.
      const double heavy = in.flat ? std::max(0.0, in.kurtosis - 3) / over.samples() : 0;
      const double variance = taken / (1 - taken) + heavy;
      one.product = scaled(one.product, mean_root(variance));
      if (heavy > 0) one.left_out += variance / 4;
    }
  }
  out.with_inputs = std::move(made);
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
  if (in.with_inputs && layer.kind != NormKind::none)
    input_through_norm(calculus, layer, in, counts, record, out);
  if (in.own) {
    out.own = product(*in.own, norm_scale(calculus, layer, in.x));
    if constexpr (C::next_orders) {
      const double second = values_of(calculus, out.x).second;
      if (second > 0) record.own = values_of(calculus, *out.own).second / second;
    }
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
  OverlapDeviation overlap{};       ///< of the output
  Alike<double> heavy{};            ///< of the output, where there is a gain: heavy_pairs
  Seldom<AlphaMoments<X>> alpha{};  ///< of dyt, whose activation is kept right before
  NormPositions positions{};
  /// Signal::by_condition of the input, and the variance of ln |c|^2.
  double by_condition = 0;
  NonNegative of_condition = 0;
};

/// Of an affine norm.
template <class C, class X>
void note_affine(ForwardPass<C, X>& pass, const Norm& layer, Kept<Norm, C, X>& kept) {
  if (!layer.affine) return;
  kept.at.parameter =
      pass.parameter(layer.path, ".gain", 1, layer.width, layer.gain_offset ? 0 : 1);
  pass.parameter(layer.path, ".shift", 1, layer.width, 0);
}

/// tanh(alpha x): an activation, with the gain and shift of a norm behind it.
template <class C, class X>
Signal<X> dyt_forward(ForwardPass<C, X>& pass, const Norm& layer, Signal<X> x,
                      const ActivationSite& site) {
  C& calculus = pass.calculus();
  if (x.own)
    throw Error(ErrorKind::input, "no rule covers a tied head whose stream goes through dyt",
                layer.path, "layernorm or rmsnorm, or tie_head = false");
  std::optional<ActivationChain<X>> chain = pass.take_chain();
  Kept<Norm, C, X> kept;
  AlphaMoments<X> alpha;
  if (pass.backward())
    alpha = alpha_moments(calculus, alpha_functions(layer.alpha), chain ? &*chain : nullptr, x);
  alpha.parameter = pass.parameter(layer.path, ".alpha", 1, 1, layer.alpha * layer.alpha);
  const std::int64_t tokens = x.tokens;
  Signal<X> y = activation_step(pass, site, tanh_norm(layer.alpha), std::move(x), std::move(chain));
  y.dropped.reset();
  kept.at = {no_site, 0, tokens};
  kept.record.output = y.x;
  kept.output_truncation = y.truncation;
  if constexpr (C::next_orders) kept.overlap = overlap_deviation(calculus, y);
  note_affine(pass, layer, kept);
  kept.alpha = std::move(alpha);
  pass.template keep<Norm>(std::move(kept));
  return y;
}

/// A norm that closes a residual shows at the residual's path, as of its kind.
template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Norm& layer, Signal<X> x,
                       const std::string& path, const char* kind) {
  C& calculus = pass.calculus();
  calculus.enter(path);
  if (layer.kind == NormKind::dyt) return dyt_forward(pass, layer, std::move(x), {path, kind});
  x.law.reset();
  Kept<Norm, C, X> kept;
  if (is_token_norm(layer.kind)) kept.by_condition = std::exchange(x.by_condition, 0.0);
  if (pass.condition() != nullptr) kept.of_condition = pass.condition()->spread.token_variance;
  kept.spread = {x.spread.token_variance, x.spread.batch_variance, x.spread.distance_response};
  kept.truncation = x.truncation;
  if constexpr (C::next_orders) {
    // Over samples it is the difference that is divided by.
    const Alike<double> in = values_of(calculus, x.x);
    const double apart = over_samples(in, pass.counts(x));
    const bool samples = !is_token_norm(layer.kind) && layer.kind != NormKind::none;
    if (samples && apart > 0)
      kept.truncation.second =
          std::min(no_mean, std::max(x.truncation.second, x.truncation.cross) * in.second / apart);
  }
  const Profile before = is_token_norm(layer.kind) ? take_profile(x) : x.profile;
  Signal<X> y = norm_forward(calculus, layer, x, pass.counts(x), kept.record);
  y.summed.reset();
  if constexpr (has_profiles<C, X>) {
    if (before)
      kept.positions = positions_through_norm(layer, x, before, pass.counts(x), kept.record, y);
  }
  if constexpr (C::next_orders) {
    kept.overlap = overlap_deviation(calculus, y);
    kept.overlap.noise += y.fresh;
  }
  kept.output_truncation = y.truncation;
  if (layer.scale != 1) y = multiplied(calculus, y, layer.scale);
  kept.at = {pass.site(path, kind, y), 0, x.tokens};
  if constexpr (C::next_orders) {
    if (layer.affine) kept.heavy = heavy_pairs(calculus, layer, x, kept.record.output);
  }
  note_affine(pass, layer, kept);
  pass.template keep<Norm>(std::move(kept));
  return y;
}
template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Norm& layer, Signal<X> x) {
  return forward_step(pass, layer, std::move(x), layer.path, "norm");
}

/// What the gradient a y of the one token of each sequence that a head reads adds to that of a gain
/// (docs/theory/layers.md#read-token). Over the features of a norm of samples, a point of a sphere
/// of nu dimensions, fourth moments have nu/(nu + 2) of Gaussian ones.
template <class C, class X>
double gain_of_read_token(const BackwardPass<C, X>& pass, const Kept<Norm, C, X>& kept,
                          const ReadToken& read) {
  const X& output = kept.record.output;
  const Alike<double> y =
      values_of(pass.calculus(), read.last ? of_last(output) : of_first(output));
  const double batch = pass.counts(1).batch, total = batch * y.second,
               pairs = pair_sum(Alike<double>{0, y.second * y.second, 0, y.between * y.between},
                                1.0, batch),
               square = read.aligned * read.aligned;
  if (kept.record.over_samples) {
    const double nu = samples_of(kept.record, pass.counts(kept.at.tokens)).samples() - 1;
    return (square + read.uneven) * nu / (nu + 2) * (total * total + 2 * pairs) - square * pairs;
  }
  const double heavy =
      pair_sum(Alike<double>{0, kept.heavy.second, 0, kept.heavy.between}, 1.0, batch);
  return square * (total * total + pairs + heavy) +
         read.uneven * (total * total + 2 * pairs + heavy);
}

/// Of a gain, what a gradient along the output y adds: a sum y_t^2 has a mean, where along_output
/// takes y and its gradient for independent. Over the samples of a norm it has no more than its
/// mean: of what is drawn a^2 sum (E y_t y_u)^2 is taken out.
template <class C, class X>
typename C::Number aligned_gain(const BackwardPass<C, X>& pass, const Kept<Norm, C, X>& kept,
                                const Gradient<X>& g, const typename C::Number& aligned,
                                const typename C::Number& tokens) {
  using N = typename C::Number;
  const X& y = kept.record.output;
  const N total = average(y).second * tokens * pass.batch();
  if (g.slope_correlation) return g.aligned * g.aligned * total * total;
  const N pairs = pair_sum(product(y, y), tokens, pass.batch());
  const N square = aligned * aligned;
  if constexpr (C::next_orders) {
    if (kept.record.over_samples)
      return square * (total * total - pairs) + g.uneven * total * total;
    const double heavy = pair_sum(kept.heavy, tokens, pass.batch());
    // E (sum y^2)^2; the other of the two pairs is in what is drawn.
    return pass.calculus().positive(N(square * (total * total + pairs + heavy) +
                                      g.uneven * (total * total + 2 * pairs + heavy)));
  }
  return kept.record.over_samples ? N(square * (total * total - pairs))
                                  : N(square * (total * total + pairs));
}

/// Deviation of the overlaps of two tokens' outputs beyond that of independent features, m^2/n:
/// what one feature's product y_t y_u has in common with the others'.
template <class C, class X>
OverlapDeviation of_other_features(const C& calculus, const Kept<Norm, C, X>& kept) {
  if (kept.record.over_samples) return {};
  const Alike<double> y = values_of(calculus, kept.record.output);
  OverlapDeviation left = kept.overlap;
  const double noise = left.noise - y.second * y.second / kept.record.projection.d;
  left.noise = std::max(noise, 0.0);
  const double coherent = left.coherent * left.coherent + std::min(noise, 0.0);
  left.coherent = std::copysign(std::sqrt(std::max(coherent, 0.0)), left.coherent);
  return left;
}

/// The gain and the shift; `whole`: all of the gradient at the output, g what goes through here.
template <class C, class X>
void fill_affine(BackwardPass<C, X>& pass, const Kept<Norm, C, X>& kept, const Gradient<X>& whole,
                 const Gradient<X>& g) {
  using N = typename C::Number;
  const N tokens = pass.tokens(kept.at.tokens);
  const X& y = kept.record.output;
  N drawn = pair_sum(along_positions(y, kept.positions, whole), tokens, pass.batch());
  double below = 0;  // of orders left out
  if constexpr (C::next_orders) {
    // A feature's y_t y_u is a part of the overlap that g_t g_u follows; aligned_gain has that of
    // the loss.
    const bool of_branch = is_tied(pass.network()) && whole.own.word == 0;
    OverlapDeviation followed = kept.overlap;
    if (pass.calculus().value(whole.aligned) != 0 && !of_branch)
      followed = of_other_features(pass.calculus(), kept);
    drawn += overlap_covariance(whole.slopes, followed, 1, pass.counts(kept.at.tokens));
    below = std::max(0.0, -drawn);
    drawn = pass.calculus().positive(drawn);
    drawn = pass.calculus().positive(drawn + whole.beyond_pairs);
    if (whole.read_token)
      drawn = pass.calculus().positive(drawn + gain_of_read_token(pass, kept, *whole.read_token));
    if (kept.record.over_samples) drawn = drawn * whole.directions.samples;
  }
  const N along =
      share_along(whole.along_mean, y) * with_own(whole.aligned, own_at(kept.record, whole));
  fill(pass, kept.at.parameter, drawn + aligned_gain(pass, kept, whole, along, tokens), g, {});
  const N shift = sum_of(pass, whole.x, kept.at.tokens);
  fill(pass, kept.at.parameter + 1, pass.calculus().positive(shift), g, {});
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
  if constexpr (C::next_orders) {
    const auto cancelled = [&](std::size_t at, const X& input, const RelativeError& error) {
      fill_cancelled(
          pass.parameter(at),
          over.samples() * error_of_terms(pass.calculus(), input, error, whole, over).error +
              below);
    };
    if (!kept.record.over_samples || whole.directions.samples > 0)
      cancelled(kept.at.parameter, y, kept.output_truncation);
    below = 0;
    if (shift != 0) cancelled(kept.at.parameter + 1, each(y, [](const N&) { return N(1); }), {});
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

/// What a norm takes from dk/dr beside its own projection: where the gradient has a part along its
/// token's word, that of pairs of one word counts by their share of the variance of overlaps.
template <class C, class X>
double slope_across_words(const BackwardPass<C, X>& pass, const Kept<Norm, C, X>& kept,
                          const Gradient<X>& g) {
  const OwnWord own = own_at(kept.record, g);
  if (own.word == 0) return -g.aligned * g.aligned;
  const double same = own_collision(pass.network());
  const double run = own.run * values_of(pass.calculus(), kept.record.output).second;
  const OverlapDeviation& overlap = kept.overlap;
  const double variance = overlap.coherent * overlap.coherent + overlap.noise;
  const double of_words = same * (1 - same) * run * run;
  const double share = of_words < variance ? of_words / variance : 1;
  return own.slope_across(g.aligned, share + (1 - share) * own.one_kind, g.own.along != 0);
}

template <class C, class X>
Gradient<X> dyt_backward(BackwardPass<C, X>& pass, const Norm& layer, const Kept<Norm, C, X>& kept,
                         Gradient<X> g) {
  g.slope_correlation.reset();
  fill_alpha(pass, layer.width, kept.at.tokens, *kept.alpha, kept.record.output, g);
  if (layer.affine) fill_affine(pass, kept, g, g);
  Gradient<X> out = activation_back(pass, std::move(g));
  out.by_slopes = true;
  return out;
}

/// k = (k' - aligned^2 r')/(s_t s_u). `shown`: the gradient at the norm's site where g is but a
/// part of it.
template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Norm& layer, Gradient<X> g,
                          const Gradient<X>* shown = nullptr) {
  C& calculus = pass.calculus();
  const auto& kept = pass.template take<Norm>();
  if (layer.kind == NormKind::dyt) return dyt_backward(pass, layer, kept, std::move(g));
  const NormRecord<X>& record = kept.record;
  if (record.over_samples && g.along_mean) {
    // A mean over tokens lies across what a norm of features over samples takes: it is random
    // there.
    g.aligned = typename C::Number(0);
    g.along_mean = {};
  }
  if constexpr (C::next_orders) {
    if (g.along_tokens && !record.over_samples)
      g.aligned = along_own(record.output, g, pass.tokens(kept.at.tokens));
  }
  const Gradient<X>& whole = shown ? *shown : g;
  pass.note(kept.at.site, whole);
  if (layer.scale != 1) g = multiplied(calculus, std::move(g), layer.scale);
  if (layer.affine) fill_affine(pass, kept, whole, g);
  const Profile above = is_token_norm(layer.kind) ? take_profile(g) : g.profile;
  Gradient<X> out = norm_backward(calculus, record, g, pass.tokens(kept.at.tokens), pass.batch());
  if (g.with_sums && layer.kind != NormKind::none) {
    const Counts over = pass.counts(kept.at.tokens);
    sums_through_norm(calculus, record, g, {over.tokens, record.over_batch ? over.batch : 1},
                      *out.with_sums);
  }
  if constexpr (C::next_orders) {
    const double scale = pair_scale(record.factors);
    const double across = slope_across_words(pass, kept, g),
                 by_chance = own_at(record, g).slope_across_chance(g.aligned, g.own.along != 0);
    out.slopes = with_part_along(g.slopes, across, kept.overlap, g.along_mean);
    if (g.own.word != 0) out.own.of_words = (g.own.of_words + across - by_chance) * scale * scale;
    if (record.over_samples) {
      const Counts over = samples_of(record, pass.counts(kept.at.tokens));
      out.slopes = slopes_across(
          out.slopes,
          pass.has_windows() ? taken_along(record, g, over) : taken_of_overlaps(record, g, over),
          kept.overlap);
    } else
      out.slopes = projected(record.projection, values_of(calculus, record.output), g.directions,
                             out.slopes);
    out.slopes = through_map(out.slopes, scale, scale);
    scale_kinds(
        calculus, out,
        below_norm(record.mixture_norm, record.kind_weight,
                   record.over_samples ? g.directions.samples : g.directions.radial, out.kinds));
    const double left_out = std::min(no_mean, record.mixture_norm.left_out());
    out.truncation.second += left_out;
    out.truncation.cross += left_out;
  }
  if constexpr (has_profiles<C, X>) {
    if (layer.kind != NormKind::none)
      positions_below_norm(record, kept.positions, g.x, above, pass.counts(kept.at.tokens), out);
  }
  out.slope_correlation.reset();
  out.of_stream.reset();
  const Alike<double> x = values_of(calculus, out.x);
  const double cross = x.second > 0 ? std::min(1.0, std::fabs(x.cross) / x.second) : 1;
  out.truncation.second += kept.truncation.second + record.truncation;
  out.truncation.cross += (kept.truncation.second + record.truncation) * cross;
  if constexpr (C::next_orders) {
    if (kept.by_condition != 0) {
      // It divides by what follows |c|^2, as the gradient does.
      out.x =
          scaled(out.x, product_of_powers(kept.of_condition, -kept.by_condition, g.by_condition));
      const double beyond = beyond_powers(kept.of_condition, kept.by_condition, g.by_condition) +
                            beyond_powers(kept.of_condition, kept.by_condition, kept.by_condition);
      out.truncation.second += beyond;
      out.truncation.cross += beyond;
      out.by_condition -= kept.by_condition;
    }
  }
  out.spread.token_variance += kept.spread.token_variance;
  out.spread.batch_variance += kept.spread.batch_variance;
  if constexpr (C::next_orders)
    covariance_through_norm(
        out.log_covariance,
        kept.spread.batch_variance + kept.spread.distance_response + record.mask_spread);
  return out;
}

}  // namespace scalecalc::moments
