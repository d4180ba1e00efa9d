#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "moments/activation_error.hpp"
#include "moments/constant_samples.hpp"
#include "moments/forward_pass.hpp"
#include "moments/norm_tokens.hpp"
#include "moments/words.hpp"
#include "scalecalc/error.hpp"

/// The forward step of norms over samples (batch, instance: docs/theory/layers.md#norm-samples).
/// Gains are 1 and shifts 0.
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
  const double gaussian = record.inverse() * (1 + record.by_chance) - 1;
  const double scatter = in.kurtosis == 3 ? gaussian : std::max(1.0, gaussian);
  const double bend = all > 0 ? scatter * size * layer.eps / (all * all) : 0;
  // All samples together have 1, so that what those of one sequence differ by is all that r has.
  const SampleLevels from =
      sample_levels(centred(values_of(calculus, in.x), over.tokens, over.batch), over);
  const double shared =
      over.batch > 1 && all > 0 ? std::fabs(order.within - 1) * from.within / all : 0;
  // Of features without a sample that is not 0, passes have a number that is Poisson's.
  const double dead = 1 - record.alive;
  const double rare = dead * static_cast<double>(in.width) < 1 ? 2 * dead : 0;
  // Where samples are all but alike their difference is rounded.
  constexpr double steps = 64;
  const double rounding = size > 0 ? steps * std::numeric_limits<double>::epsilon() *
                                         values_of(calculus, in.x).second / size
                                   : 0;
  // Of features that are not Gaussian over the samples all is off by 1/n.
  const bool is_gaussian = in.kurtosis == 3 && !in.flat && in.repeats == 0;
  const double own = bend + rare + rounding + (is_gaussian ? 0 : 1 / over.samples());
  calculus.omit(own, shared + own);
}

/// Mean of c^2 over pairs of different samples, c their cosine.
inline double squared_cosine(const Alike<double>& x, const Counts& over) {
  const double size = x.second * x.second;
  return size > 0
             ? mean_of_pairs({0, 0, x.cross * x.cross / size, x.between * x.between / size}, over)
             : 1;
}

/// What tokens about their mean differ by in size, beyond the 2/n of new features: of the variance
/// that tokens do not share, the part of x about the mean, over its square, is 1/(1 - c^2) where x
/// is Gaussian, and no more than 2 V/D^2; rows of attention differ by what p.p does besides. Of
/// samples that are alike or opposite about the mean (`inside`) the sizes are the same. A
/// feature's own norm takes (k - 1)/(n - 1) of each difference, k its fourth moment.
template <class X>
double size_variance_apart(const Signal<X>& in, const Alike<double>& x, const Alike<double>& inside,
                           const Counts& counts, const Counts& over, double size_excess) {
  const double own = 2 / static_cast<double>(in.width), one = in.spread.token_variance,
               shared = between_tokens(one, in.spread.batch_variance, counts),
               square = 1 - squared_cosine(x, counts);
  if (!(square > 0)) return 0;
  double apart = std::max(0.0, (one - shared) / square - own);
  if (in.map_overlap > 0) apart = std::min(apart, 2 * in.map_overlap);
  apart += in.head_overlap.sizes;
  const double left = std::max(0.0, 1 - (2 + 3 * size_excess) / std::max(over.samples() - 1, 1.0));
  return std::max(0.0, 1 - squared_cosine(inside, over)) * left * left * apart;
}

/// Of what each feature adds to an overlap by itself, what its own norm leaves.
template <class X>
double overlap_left(const Alike<double>& inside, const Signal<X>& in, double samples, double eps) {
  const double divided = inside.second / (inside.second + eps);
  return 1 - 2 * divided * std::clamp(in.spread.batch_noise, 0.0, 1.0) / (samples + 1);
}

/// What of V is left where each feature's own norm over samples divides its part of an overlap:
/// 1/s2 falls where y_t y_u is large, so that an overlap that the features share comes out n/(n +
/// 2) as large, n = samples - 1, and the square of what each has by itself, D^2/width, likewise
/// (docs/theory/layers.md#norm-samples-overlap). A feature that has been divided before is not
/// again, and of one behind an activation it is not known.
template <class X>
double overlap_kept(const Overlap<double>& overlap, const Alike<double>& inside,
                    const Signal<X>& in, double samples, double eps) {
  const double whole = overlap.variance(), apart = inside.second - inside.cross;
  if (!(whole > 0)) return 1;
  const double drawn = apart * apart / static_cast<double>(in.width);
  const double own = std::min(whole, std::max(0.0, drawn - in.fresh));
  const double left = overlap_left(inside, in, samples, eps);
  return ((whole - own) * left * left + own * left) / whole;
}

/// All samples together have 1 for their second and nothing for their sum, so that crosses within
/// one sequence are known; how the second is shared between sequences is not known any better.
inline RelativeError error_over_samples(const RelativeError& in, const Alike<double>& x,
                                        const Counts& over) {
  const double apart = over_samples(x, over);
  if (over.batch == 1 || !(apart > 0)) return {};
  return {0, std::min(1.0, (in.second + in.cross) * x.second / apart), 0};
}

/// Samples that differ in size and go together in their own ways have directions of their own,
/// where every position is there (docs/theory/layers.md#norm-samples-levels).
template <class X>
void note_directions(const X& inside, const Counts& over, double share, NormRecord<X>& record) {
  if constexpr (std::is_same_v<X, PerPosition>) {
    if (inside.positions->all()) record.directions = SampleDirections(inside, over, share);
  }
}
template <class X>
X by_directions(const NormRecord<X>& record, const X& inside, const typename X::Number& scale) {
  if constexpr (std::is_same_v<X, PerPosition>)
    return scaled(record.directions->forward(record.over_batch ? inside : without_between(inside)),
                  scale);
  return inside;
}

/// What equal words make of E 1/s^2 (docs/theory/layers.md#norm-samples-words): n samples of W
/// words, 1/W = sum f^2 the chance that two are one, of which tokens keep the share c, have W - 1
/// directions of c n/W + 1 - c and n - W of 1 - c.
template <class X>
double inverse_of_words(const Signal<X>& in, const Counts& over) {
  const double n = over.samples();
  if (!has_words(in) || n < 4) return 1;
  const double same = in.collision > 0 ? in.collision : in.repeats;
  const double words = 1 / (same + (1 - same) / n), equal = equal_share(in);
  // Of two directions and fewer there is no mean; what is stated says so.
  constexpr double fewest = 2.5;
  const double directions = std::max(words - 1, fewest);
  const double inverse = inverse_of_levels(
      {{equal * n / words + 1 - equal, directions}, {1 - equal, n - 1 - directions}});
  return 1 + in.spread.batch_noise * (inverse * (n - 3) / (n - 1) - 1);
}

/// What E 1/s^2 has beyond that of the mean of a feature's covariance S over the samples, relative.
/// Of weights that mix 1/w features E n/|w|^2 = 1/(1 - 2 w), w = V/D^2. Where S varies by `own` of
/// (tr S)^2 from head to head, E tr S^2 has as much more, and E 1/s^2 of nu dimensions, nu/(nu -
/// 2), has 1/nu + own for 1/nu (docs/theory/layers.md#norm-samples-heads).
inline double inverse_by_chance(double weights, double own, double inverse) {
  const auto part = [](double added, double room) {
    return added < room ? std::min(no_mean, added / (room - added)) : no_mean;
  };
  return part(2 * weights, 1) + part(2 * own, 1 / inverse);
}

/// What features that are not Gaussian make of E 1/s2 where it is not known: of a gated unit beside
/// Gaussian ones, and of a sum whose activation is the same at all samples of some features, which
/// have what the branch makes of them (docs/theory/layers.md#norm-samples-parts).
template <class C, class X>
void state_parts(C& calculus, const Signal<X>& in, const Counts& over, NormRecord<X>& record) {
  if (!in.summed) return;
  const ActivationInput& of = in.summed->activation;
  const ConstantSamples same =
      constant_samples(calculus.function(of.function)->activation(), of.input, over, of.gate);
  const double chance = std::min(1.0, same.all + same.few);
  constexpr double nearly = 4;  // of features that are all but the same at all samples
  const double left = std::max<double>(in.summed->left, chance / no_mean);
  if (chance > few_enough && left > 0)
    record.truncation += std::min(no_mean, nearly * chance * (1 / left - 1));
}

/// Right behind a concatenation features have one of two s2: y y is the mean of both kinds', and so
/// is 1/s2, which their gradients have each for itself (docs/theory/layers.md#concat). What E 1/s2
/// is over 1/E s2.
template <class X>
double norm_populations(const Norm& layer, const Signal<X>& in, const X& inside, const Counts& over,
                        NormRecord<X>& record, Signal<X>& out) {
  const Populations& two = *in.populations;
  const double p = two.share, q = 1 - p;
  const auto levels = [&](const Alike<double>& one) {
    const Alike<double> about = centred(one, over.tokens, over.batch);
    return record.over_batch ? about : without_between(about);
  };
  const Alike<double> left = levels(two.left), right = levels(two.right);
  const Alike<double> all = record.over_batch ? average(inside) : without_between(average(inside));
  const double a = left.second + layer.eps, b = right.second + layer.eps,
               c = all.second + layer.eps;
  if (!(a > 0 && b > 0)) {
    record.truncation = no_mean;
    return 1;
  }
  const auto beside = [&](double l, double r, double both) {
    return p * l / a + q * r / b - both / c;
  };
  out.x =
      sum(out.x, uniform(out.x, Alike<double>{0, beside(left.second, right.second, all.second),
                                              beside(left.cross, right.cross, all.cross),
                                              beside(left.between, right.between, all.between)}));
  out.kurtosis /= two.unequal;
  const double inverse = p / a + q / b;
  record.populations = PopulationGradient{1 / (a * inverse), 1 / (b * inverse)};
  return inverse * c;
}

/// Masks of dropout, which each sample has of its own, make s^2 of a feature's samples vary more: E
/// 1/s^2 of their mixture over that of normal ones, by the kind of a sample; two samples of a
/// feature are divided by the same (docs/theory/layers.md#norm-samples-masks).
template <class X>
void norm_masks(const Signal<X>& in, const Alike<double>& x, const Counts& over, double eps,
                NormRecord<X>& record) {
  if (in.mixture.plain() || in.flat) return;
  const double share = std::clamp(in.spread.batch_noise, 0.0, 1.0);
  MixtureNorm& norm = record.mixture_norm;
  norm =
      mixture_norm(in.mixture, over.samples() - 1, eps, in.kurtosis / in.mixture.square(), share);
  record.kind_weight = in.mixture.weight;
  const double mean = (record.kind_weight * norm.inverse).sum();
  if (!(mean > 0)) return;
  norm.root = norm.inverse / std::sqrt(mean);
  norm.normal_root = std::sqrt(norm.normal_inverse);
  // Samples that have a part in common do not vary by themselves in it.
  const double common = x.second > 0 ? std::fabs(mean_of_pairs(x, over)) / x.second : 0;
  const double few = share * norm.few * static_cast<double>(in.width);
  record.truncation += std::min<double>(
      no_mean, std::fabs(mean / norm.normal_inverse - 1) * common + no_mean * std::min(1.0, few));
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
  if (in.sinusoids)
    throw Error(ErrorKind::input,
                "no rule covers fixed sinusoids behind a norm over samples, as each feature has a "
                "variance over them of its own",
                layer.path, "layernorm or rmsnorm, or sinusoids = false");
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
  out.none = 0;
  out.x = scaled(inside, scale);
  if (!record.over_batch) out.x = without_between(out.x);
  N back = scale;
  if constexpr (C::next_orders) {
    const Counts over{counts.tokens, record.over_batch ? counts.batch : 1};
    const Alike<double> raw = values_of(calculus, in.x);
    const double whole = calculus.value(in.overlap.variance());
    const double left = whole > 0 ? std::max(0.0, 1 - in.mask_overlap / whole) : 1;
    const Overlap<double> own = overlap_about_mean(
        {calculus.value(in.overlap.coherent), calculus.value(in.overlap.noise)}, raw, in.width);
    const double kept =
        in.flat && !in.flat->gate
            ? left
            : left * overlap_kept(own, values_of(calculus, inside), in, samples, layer.eps);
    out.overlap = {own.coherent * scale * std::sqrt(kept), own.noise * scale * scale * kept};
    out.fresh *= calculus.value(scale) * calculus.value(scale) *
                 overlap_left(values_of(calculus, inside), in, samples, layer.eps);
    out.mask_overlap = 0;
    const SampleLevels from = sample_levels(values_of(calculus, inside), over);
    record.orders = sample_orders(from, over, in.spread.batch_noise);
    note_directions(inside, over, in.spread.batch_noise, record);
    state_parts(calculus, in, over, record);
    const double apart = over_samples(raw, over);
    norm_masks(in, raw, over, apart > 0 ? layer.eps / apart : 0, record);
    const double noise = in.spread.batch_noise;
    double chance = noise * in.map_overlap;
    if (!(in.map_overlap > 0) && from.within > 0)
      chance = noise * calculus.value(in.overlap.variance()) / (from.within * from.within);
    const double of_heads = noise * in.head_overlap.one;
    chance = std::max(0.0, chance - noise * in.head_overlap.average);
    record.by_chance = inverse_by_chance(chance, of_heads, record.inverse());
    out.head_overlap = {};
    const double of_words = inverse_of_words(in, over);
    back = back * of_words;
    record.truncation += std::min(no_mean, (of_words - 1) * (of_words - 1));
    const SampleLevels& order = record.orders.forward;
    if (!in.flat || in.flat->gate) {
      const double taken = noise * size_variance(from, over, in.map_overlap);
      out.kurtosis *= 1 - taken;
      out.size_excess -= taken;
      out.sphere_excess -= noise * size_variance(from, over, 0);
    }
    out.map_overlap = out.weight_cumulant = out.mean_pairs = 0;
    if (record.directions)
      out.x = by_directions(record, inside, scale);
    else
      out.x = at_levels(out.x, order.within,
                        {order.within * scale * from.within, order.between * scale * from.between},
                        over);
  } else {
    back = back * calculus.real(samples - 2) / calculus.real(samples - 3);
  }
  if constexpr (C::next_orders) {
    if (in.flat) {
      const Counts over{counts.tokens, record.over_batch ? counts.batch : 1};
      const Activation& phi = calculus.function(in.flat->function)->activation();
      const ConstantSamples flat = constant_samples(phi, in.flat->input, over, in.flat->gate);
      record.alive = std::max(1 - flat.all, 1 / static_cast<double>(in.width));
      record.few = flat.few;
      if (layer.eps > 0) record.constant = (1 - record.alive) / layer.eps;
      record.rare = flat.few > few_enough && flat.zero_sum;
      constexpr double many = 256;  // past which omit_sample_scatter says it all
      if (in.flat->gate && samples < many && flat.all + flat.few < few_enough) {
        const Alike<double>& u = in.flat->input;
        const double more = gated_inverse(phi, u.mean, u.second - u.mean * u.mean, samples) *
                            (samples - 3) / (samples - 1);
        // What the unit's own factors hand on of it is less, as they are small where s2 is.
        record.truncation += std::min(no_mean, std::max(0.0, more - 1));
      }
      if (!in.flat->gate)
        record.scatter = feature_scatter(phi, in.flat->input, over, record.projection.d, layer.eps,
                                         record.orders.inverse);
      record.rare = record.rare || record.scatter.unknown;
      const double left_over = record.alive * record.scatter.forward;
      out.x = scaled(out.x, left_over);
      out.overlap = {out.overlap.coherent * left_over, out.overlap.noise * left_over * left_over};
      // 1/s2 of those that are not.
      back = back * record.alive * record.scatter.inverse;
    }
  }
  if constexpr (C::next_orders) {
    if (in.populations)
      back = back * norm_populations(layer, in, inside,
                                     {counts.tokens, record.over_batch ? counts.batch : 1}, record,
                                     out);
  }
  record.factors = each(out.x, [&](const N&) { return back; });
  const double own_variance = 2 / static_cast<double>(in.width);
  out.spread = {own_variance, 0, 0, 0, 0, 1, in.spread.distance_variance, 0};
  out.spread.distance_slope = in.spread.distance_slope;
  if constexpr (C::next_orders) {
    out.spread.token_variance +=
        size_variance_apart(in, values_of(calculus, in.x), values_of(calculus, inside), counts,
                            {counts.tokens, record.over_batch ? counts.batch : 1}, out.size_excess);
  }
  out.spread.skewness = in.spread.skewness;
  out.spread.position_variance = in.spread.position_variance;
  if constexpr (C::next_orders) {
    const Alike<double> raw = values_of(calculus, in.x);
    const double apart = over_samples(raw, counts);
    if (apart > 0)
      out.unknown_sizes =
          std::min(1.0, (in.truncation.second + in.truncation.cross) * raw.second / apart);
  }
  for (RelativeError* bound : {&out.error, &out.truncation})
    *bound = error_over_samples(*bound, values_of(calculus, in.x),
                                {counts.tokens, record.over_batch ? counts.batch : 1});
  calculus.assume("norm over samples", "features are Gaussian over the samples");
  if constexpr (C::next_orders) omit_sample_scatter(calculus, layer, in, counts, record);
  return out;
}

}  // namespace scalecalc::moments
