#pragma once

#include <cmath>
#include <optional>

#include "moments/calculus.hpp"
#include "moments/constant_samples.hpp"
#include "moments/norm_samples.hpp"
#include "moments/norm_variance.hpp"
#include "moments/passage.hpp"
#include "moments/projection.hpp"
#include "moments/sample_directions.hpp"
#include "moments/seldom.hpp"
#include "moments/token_distance.hpp"
#include "moments/value_scatter.hpp"
#include "moments/words.hpp"
#include "moments/zero_tokens.hpp"

/// Norms over one token's features (layer, rms, scale): docs/theory/layers.md#norm-tokens. Gains
/// are 1 and shifts 0.
namespace scalecalc::moments {

inline bool is_token_norm(NormKind kind) {
  return kind == NormKind::layernorm || kind == NormKind::rmsnorm || kind == NormKind::scalenorm;
}

/// The corrections of order 1/d that come of a token's s2 fluctuating. v: relative variance of a
/// token's s2, `both` its covariance between two tokens, w: the share of s2 in s2 + eps. The orders
/// 1/d of docs/theory/layers.md#norm-tokens are split into what the projection takes and what
/// E[1/s2] > 1/E[s2] gives back: v of g and (3v + both)/4 of k; a LayerNorm's own mean takes
/// another 1/d from s2. Gaussian features have v = 2/d and both = c^2 v.
struct Fluctuation {
  double v = 0, both = 0, covariance = 0, w = 1;
  double mean = 0;  ///< what a layernorm's own mean takes of s2
  /// E 1/s2 over 1/E s2, where it is known as a whole: right behind an activation.
  double inverse = 0;

  double second() const { return inverse > 0 ? inverse : 1 + w * (v + mean); }
  double cross() const {
    const double pair = (3 * v + both) / 4;
    return inverse > 0 && v > 0 ? 1 + (inverse - 1) * pair / v : 1 + w * (pair + mean);
  }
  /// Forward E[r/(s_t s_u)]: `covariance` is the covariance of r and s2. Gaussian: 1 - (1 -
  /// c^2)/(2d). Where it would leave the positive numbers, as of sizes that fluctuate past their
  /// mean, it goes on as 1/(4 lost), which has its value and slope at 1/2.
  double forward() const {
    const double lost = w * w * (covariance - (3 * v + both) / 4);
    return lost > 0.5 ? 1 / (4 * lost) : 1 - lost;
  }
};

/// `x`: the averages of what is normalised.
Fluctuation fluctuation_of(const NormVariance& spread, double width, double share, bool layernorm,
                           const Alike<double>& x, const Counts& counts);

/// What E x_i/|x| has beside E x_i/(E x^2)^(1/2), in units of that root: |x|^2/n of n independent
/// features fluctuates by V = (E x^4/m^2 - 1)/n of m = E x^2, and with x_i by (E x^3 - mu m)/n: mu
/// 3V/8 - (E x^3 - mu m)/(2 n m). Of the stream behind a norm |x|^2 has only what branches have
/// brought since: where `size_variance`, its relative variance, is less than V, both are as much
/// less.
double mean_order(const Alike<double>& x, double skew, double kurtosis, double width,
                  double size_variance);

/// E s/(s + eps) of a token's s of this mean and relative variance, as a Gamma variable (the mean
/// of Gaussian features' squares) has it: 1 - (eps/mean) k e^z E_k(z) with k = 1/variance and z = k
/// eps/mean, E_k the exponential integral of order k.
double kept_beside_eps(double mean, double eps, double variance);

template <class X>
struct NormRecord {
  X factors;  ///< of the gradient, entry by entry, before the projection
  Projection projection;
  bool over_samples = false, over_batch = false;
  SampleOrders orders;
  Seldom<SampleDirections> directions;  ///< of samples that differ in size, in place of `orders`
  double alive = 1, few = 0;            ///< of constant_samples: 1 - all, and few
  bool rare = false;                    ///< few, or heavy, of samples that add up to 0
  double constant = 0;                  ///< 1/eps of all, times their share
  FeatureScatter scatter;
  double by_chance = 0;  ///< of 1/s2 over samples, what overlaps of two samples by chance add
  X output;
  double own = 0;              ///< of a tied head: E y e over E y^2
  NonNegative truncation = 0;  ///< of the gradient, relative
  MixtureNorm mixture_norm;
  double few_tokens = 0;        ///< of a pass, with MixtureNorm::few
  NonNegative mask_spread = 0;  ///< MixtureNorm::spread beside what the sizes' variance says
  Seldom<ValueScatter> values;  ///< right behind an activation
  Seldom<DroppedPaths> dropped;
  Seldom<PopulationGradient> populations;  ///< of 1/s2 over samples, right behind a concatenation
  Eigen::ArrayXd kind_weight;
  /// E 1/s2 over 1/E s2 of a norm over samples.
  double inverse() const { return directions ? directions->inverse() : orders.inverse; }
};

/// Right behind an activation 1/s2 is known for features given the size of their inputs, which v
/// has the rest of; returns that rest.
template <class C, class X>
double know_values(C& calculus, const Norm& layer, const Signal<X>& in, NormRecord<X>& record,
                   Fluctuation& orders) {
  if (!in.flat || in.flat->gate || !in.mixture.plain()) return orders.v;
  const auto phi = calculus.function(in.flat->function);
  const Alike<double>& u = in.flat->input;
  const double variance = u.second - u.mean * u.mean, width = static_cast<double>(in.width);
  if (!(variance > 0)) return orders.v;
  const bool centre = layer.kind == NormKind::layernorm;
  const WidthMoments& moments = calculus.width(phi, u.mean, variance);
  const double sizes = in.flat->size_variance;
  record.values =
      value_scatter_of_sizes(phi->activation(), u.mean, variance, sizes, width, centre, layer.eps);
  // v is of logarithms, whose noise of heavy features is less than (kurtosis - 1)/n.
  const double heavy = moments.kurtosis - 1;
  const double of_logs = heavy > 0 ? forward_noise(moments, width) / heavy : 0;
  const double own = ((centre ? moments.centred_kurtosis : moments.kurtosis) - 1) * of_logs;
  const double latent = std::max(0.0, orders.v - own);
  if (own > 0 && orders.v < own) tie_values(orders.v / own, *record.values);
  orders.inverse = record.values->inverse;
  if (sizes > 0) return 0;
  orders.inverse *= 1 + orders.w * latent;
  // The size of u, which v has besides, moves phi^2, phi'^2 and u^2 together.
  const double moved = moments.exponent != 0 ? latent / moments.exponent : 0;
  record.values->slopes /= std::max(0.5, 1 + moments.slope_exponent * moved);
  record.values->inputs /= std::max(0.5, 1 + (moments.slope_exponent + 1) * moved);
  return latent;
}

/// What features of a mean mu add to an overlap by themselves is (m^2 - mu^4)/n, and (m -
/// mu^2)^2/n once it is taken out.
inline double share_about_mean(const Alike<double>& x) {
  const double square = x.mean * x.mean;
  return x.second > 0 ? (x.second - square) / (x.second + square) : 1;
}

/// Overlaps of features about their mean: of new features the share above, and a sum that has taken
/// them into its own (`coherent`) loses as much, overlap_of_mean together.
inline Overlap<double> overlap_about_mean(const Overlap<double>& overlap, const Alike<double>& x,
                                          std::int64_t width) {
  const double of_mean = overlap_of_mean(x, static_cast<double>(width));
  if (!(of_mean > 0)) return overlap;
  const double share = share_about_mean(x), all = overlap.coherent * overlap.coherent;
  const double rest = std::max(0.0, of_mean - overlap.noise * (1 - share));
  return {std::sqrt(std::max(all - rest, all * share)), overlap.noise * share};
}

/// Relative variance of |x|^2 that masks of the features make where no norm has come since.
template <class X>
double mask_variance(const Signal<X>& in) {
  return in.kurtosis * (1 - 1 / in.mixture.square()) / static_cast<double>(in.width);
}
template <class X>
double share_of_masks(const Signal<X>& in) {
  const double all = mask_variance(in);
  return all > 0 ? std::min(1.0, in.spread.token_variance / all) : 1;
}

/// What tokens' s2 fluctuates by beside what masks of their features do, which is in mixture_norm,
/// and what drop path does, in DroppedNorm.
template <class X>
NormVariance normal_part(const Signal<X>& in, const Counts& counts) {
  NormVariance spread = in.spread;
  double masks = mask_variance(in);
  if (in.dropped) {
    const double variance = in.dropped->variance();
    masks += variance;
    spread.batch_variance = std::max(0.0, spread.batch_variance - variance / counts.batch);
    spread.decorrelation -= variance - in.dropped->covariance();
  }
  spread.token_variance = std::max(0.0, spread.token_variance - masks);
  return spread;
}

/// x with crosses times `within`, of two samples times `between`.
template <class N>
Alike<N> with_pairs_scaled(Alike<N> x, double within, double between) {
  x.cross *= within;
  x.between *= between;
  return x;
}
inline PerPosition with_pairs_scaled(PerPosition x, double within, double between) {
  x.cross *= within;
  x.between *= between;
  return x;
}

/// What a norm over a token's n features makes of V/D^2 = omega, D = `apart`, beside the sizes it
/// divides by; V and D are about the mean where it takes that. x_t.x_u goes with x_t^T C x_t, C the
/// covariance of n features, which goes with |x_t|^2, so that 1 - 4 [tr C^3/(tr C tr C^2) - omega]
/// is left; a Wishart's C has (1 - 1/(n omega))/n for the bracket. Sizes of this C vary by 2 omega:
/// where they vary by less (`sizes`), as behind a norm further up, that is taken already. The mean
/// takes one of n equal directions (docs/theory/attention.md#overlap).
inline double overlap_left_by_norm(const Overlap<double>& overlap, double fresh, double apart,
                                   double n, double share, bool centre, double sizes) {
  const double all = overlap.variance() + fresh;
  if (!(apart > 0) || !(all > 0)) return 1;
  const double even = std::clamp(apart * apart / (n * all), 0.0, 1.0);
  const double varies = std::clamp(sizes * apart * apart / (2 * all), 0.0, 1.0);
  return (1 + (centre ? even / n : 0)) / (1 + share * share * varies * 4 / n * (1 - even));
}

template <class C, class X>
Signal<X> token_norm(C& calculus, const Norm& layer, const Signal<X>& in, const Counts& counts,
                     NormRecord<X>& record) {
  using N = typename C::Number;
  using T = Token<N>;
  using std::sqrt;
  const bool centre = layer.kind == NormKind::layernorm;
  const N eps = calculus.real(layer.eps);
  const auto s2 = [&](const T& u) {
    return centre ? calculus.positive(u.second - u.mean * u.mean) : u.second;
  };
  const auto means = average(in.x);
  const N typical = s2(T{means.mean, means.second});
  Fluctuation orders;
  double unknown = 0, zero = 0;  // of v, and the chance of a token that is 0
  if constexpr (C::next_orders) {
    const double size = calculus.value(typical), d = static_cast<double>(in.width);
    const double share = size > 0 ? size / (size + layer.eps) : 1;
    orders = fluctuation_of(normal_part(in, counts), d, share, centre, values_of(calculus, in.x),
                            counts);
    unknown = know_values(calculus, layer, in, record, orders);
    record.mixture_norm = mixture_norm(in.mixture, d, size > 0 ? layer.eps / size : 0,
                                       in.kurtosis / in.mixture.square(), share_of_masks(in));
    constexpr double few_eps = 0.01;  // of s2: a token of no size leaves 0 whatever eps is
    if (layer.eps < few_eps * size) {
      // Behind an activation what masks leave of no token is a part of it.
      zero = chance_of_zero(calculus, in, centre);
      const double some = 1 - zero, masks = in.flat ? record.mixture_norm.alive : 1;
      if (masks > 0) {
        record.mixture_norm.alive *= some / masks;
        record.mixture_norm.forward *= some / masks;
      }
    }
    record.few_tokens = record.mixture_norm.few * counts.samples();
    const double linear = record.mixture_norm.share * mask_variance(in) / counts.samples();
    record.mask_spread = std::max(0.0, record.mixture_norm.spread(counts.samples()) - linear);
    record.kind_weight = in.mixture.weight;
    // Of tokens without a feature left, passes have a number that is Poisson's.
    const double dead = 1 - record.mixture_norm.alive;
    if (dead * counts.samples() < 1) calculus.omit(dead / (1 - dead), dead / (1 - dead));
    record.projection = {d, share, centre};
    const double bend = share * (1 - share) * in.spread.token_variance;
    calculus.omit(0, bend);
  }
  const auto second_of = [&](const N& size) {
    if constexpr (C::next_orders) {
      if (layer.eps > 0 && size > 0)
        return kept_beside_eps(size * (1 - orders.mean), layer.eps,
                               in.spread.token_variance / (1 - orders.mean));
    }
    return N(size / (size + eps));
  };
  if constexpr (C::next_orders) {
    // A scatter that is none of Gaussian features' bends by as much, but for what it has past its
    // variance: by V of it.
    const double size = calculus.value(typical);
    if (layer.eps > 0 && size > 0)
      calculus.omit(std::fabs(second_of(typical) - size / (size + layer.eps)) *
                        std::min(1.0, 2 * in.spread.token_variance),
                    0);
  }
  Signal<X> out = in;
  out.normalised = true;
  out.mean_pairs = out.weight_cumulant = 0;
  out.head_overlap.sizes = 0;
  out.flat.reset();
  out.none = zero;
  N more_mean(0);
  if constexpr (C::next_orders)
    more_mean = mean_order(values_of(calculus, in.x), in.spread.skewness, in.kurtosis,
                           static_cast<double>(in.width), in.spread.token_variance) *
                orders.w;
  const auto root = [&](const T& u, const T& v) { return sqrt((s2(u) + eps) * (s2(v) + eps)); };
  const auto inside = [&](const T& u, const T& v, const N& cross) {
    if (!centre) return cross;
    if constexpr (C::next_orders) return N(cross - (u.mean * v.mean + in.mean_pairs));
    return N(cross - u.mean * v.mean);
  };
  out.x = map(
      in.x,
      [&](const T& u) {
        const N second = calculus.real(record.mixture_norm.alive) * second_of(s2(u));
        return T{centre ? N(0) : N((u.mean + more_mean) / sqrt(s2(u) + eps)), second};
      },
      [&](const T& u, const T& v, const N& cross) {
        const N c = inside(u, v, cross) / root(u, v);
        if constexpr (C::next_orders) return N(c * orders.forward() * record.mixture_norm.forward);
        return c;
      });
  DroppedNorm dropped;
  if constexpr (C::next_orders) {
    if (in.dropped) {
      dropped = norm_of_paths(*in.dropped);
      record.dropped = in.dropped;
      out.dropped = dropped.classes;
    }
    out.x = with_pairs_scaled(std::move(out.x), dropped.within, dropped.between);
    out.x = with_bounded_cross(std::move(out.x));
  }
  record.factors = map(
      in.x,
      [&](const T& u) {
        const N factor = 1 / (s2(u) + eps);
        if constexpr (C::next_orders) return T{N(0), factor * orders.second() * dropped.inverse};
        return T{N(0), factor};
      },
      [&](const T& u, const T& v, const N&) {
        const N factor = 1 / root(u, v);
        if constexpr (C::next_orders) return N(factor * orders.cross());
        return factor;
      });
  if constexpr (C::next_orders)
    record.factors =
        with_pairs_scaled(std::move(record.factors), dropped.inverse, dropped.inverse_between);
  const N scale = 1 / (typical + eps);
  out.overlap = {in.overlap.coherent * scale, in.overlap.noise * scale * scale};
  if constexpr (C::next_orders) {
    out.mask_overlap *= calculus.value(scale) * calculus.value(scale);
    out.fresh *= calculus.value(scale) * calculus.value(scale);
    if (centre) {
      const Overlap<double> left = overlap_about_mean(
          {calculus.value(in.overlap.coherent), calculus.value(in.overlap.noise)},
          values_of(calculus, in.x), in.width);
      out.overlap = {left.coherent * scale, left.noise * scale * scale};
    }
    const Alike<double> y = values_of(calculus, out.x);
    out.overlap.noise += dropped.overlap_variance * y.cross * y.cross;
    // Equal words are equal behind it too.
    const double all = calculus.value(out.overlap.variance()),
                 by_words = has_words(in)
                                ? std::min(all, word_overlap(y, in.repeats, equal_share(in)))
                                : 0;
    const double left =
        overlap_left_by_norm({0, all - by_words}, out.fresh, y.second - y.cross,
                             static_cast<double>(in.width), orders.w, centre, orders.v);
    const double kept = all > 0 ? (by_words + (all - by_words) * left) / all : left;
    out.overlap = {out.overlap.coherent * std::sqrt(kept), out.overlap.noise * kept};
    out.fresh *= left;
    // Of x_t.x_u of two tokens that have been normed no more than their sizes' product varies.
    const double most = std::max(0.0, y.second * y.second - y.cross * y.cross),
                 variance = calculus.value(out.overlap.variance());
    if (variance > most)
      out.overlap = {out.overlap.coherent * std::sqrt(most / variance),
                     out.overlap.noise * (most / variance)};
  }
  if constexpr (C::next_orders) {
    const double rest = 1 - orders.w;
    const DistanceAfterNorm after = distance_after_norm(in.spread, orders.w);
    out.spread = NormVariance{rest * rest * in.spread.token_variance,
                              rest * rest * in.spread.batch_variance,
                              rest * in.spread.mean_shift,
                              rest * in.spread.susceptibility,
                              rest * rest * in.spread.decorrelation,
                              centre ? 0 : in.spread.mean_mode,
                              after.variance};
    out.spread.batch_variance =
        out.spread.batch_variance + of_zero_tokens(zero, values_of(calculus, out.x), counts);
    out.spread.own_ratio = in.spread.own_ratio;
    out.spread.distance_covariance = after.covariance;
    out.spread.distance_slope = after.slope;
    out.spread.distance_susceptibility = rest * in.spread.distance_susceptibility;
    out.spread.distance_response = rest * rest * in.spread.distance_response;
    // Of r/m what is not known of D/m.
    const Alike<double> before = values_of(calculus, in.x);
    const double divided = before.second - (centre ? before.mean * before.mean : 0);
    const double unit = divided > 0 ? before.second / divided : 1;
    const double distance = std::min(std::fabs(before.second - before.cross) / before.second, 1.0);
    for (RelativeError* bound : {&out.error, &out.truncation}) {
      const double of_ratio = unit * (bound->apart() + unit * distance * bound->second);
      bound->cross = std::min<double>(bound->cross + bound->second,
                                      std::isfinite(of_ratio) ? of_ratio : most_error);
      bound->second *= rest;
      bound->know_apart(bound->cross + bound->second);
    }
    // Orders of 1/s2 past the first: v^2 beside 1 + v, and that of what is forward. Where the
    // features are not Gaussian (v past 2/d) the covariances of s2 with x and with r are not known:
    // of random models an eighth of what tokens do not share covers them. What sizes of both tokens
    // share drops out of r/(s_t s_u), and where r is 0 all does.
    const double v = orders.v, kept = std::fabs(1 - orders.forward());
    const Alike<double> y = values_of(calculus, out.x);
    const double c = y.second > 0 ? std::clamp(y.cross / y.second, -1.0, 1.0) : 1;
    const double own = std::max(0.0, v - orders.both);
    const double own_noise = 2 / static_cast<double>(in.width);
    const double heavy = std::max(0.0, own - 2 * (1 - c * c) / static_cast<double>(in.width));
    record.truncation = orders.w * v * unknown / (1 + v);
    if (in.dropped) {
      // What else of a sample goes with the branches that it has lost is not followed.
      const double variance = in.dropped->variance();
      record.truncation += std::max(variance, dropped.inverse - 1);
      calculus.omit(0, variance / 2);
    }
    const double bent_pair =
        in.mixture.plain()
            ? std::fabs(c) * (kept * v + v * own / 2 + heavy / 8)
            : std::min(1.0, 2 * std::fabs(c)) *
                  (kept * v + (v * v + std::max(heavy, v - own_noise)) / 2 * (1 - c * c));
    // Samples that add up to 0 have -1/n of each pair only where they are of one size.
    const double of_sum =
        counts.samples() > 1 ? std::min(std::fabs(c), 1 / (counts.samples() - 1)) : 0;
    calculus.omit(0, bent_pair + in.unknown_sizes * of_sum);
    out.unknown_sizes = 0;
    // Features' own scatter is of the next order there; that of a token's size drops out of x/|x|
    // but for v/8 that goes with |x|.
    const double root_second = std::sqrt(y.second);
    const double noise = std::min(1.0, (in.kurtosis - 1) / static_cast<double>(in.width));
    const double bent = calculus.value(more_mean) / std::sqrt(calculus.value(typical) + layer.eps);
    if (y.second > 0)
      out.truncation.mean +=
          (2 * noise * std::fabs(bent) +
           std::max(0.0, v - 2 / static_cast<double>(in.width)) / 8 * std::fabs(y.mean)) /
          root_second;
    out.spread.skewness = in.spread.skewness;
  }
  return out;
}

/// What each token, and the root of what each pair, is multiplied by.
template <class C, class X>
X norm_scale(C& calculus, const Norm& layer, const X& x) {
  using N = typename C::Number;
  using T = Token<N>;
  using std::sqrt;
  if (layer.kind == NormKind::none) return each(x, [](const N& entry) { return N(entry * 0 + 1); });
  const N eps = calculus.real(layer.eps);
  const auto s2 = [&](const T& u) {
    return N((layer.kind == NormKind::layernorm ? u.second - u.mean * u.mean : u.second) + eps);
  };
  return map(
      x,
      [&](const T& u) {
        return T{N(0), 1 / sqrt(s2(u))};
      },
      [&](const T& t, const T& u, const N&) { return N(1 / sqrt(sqrt(s2(t) * s2(u)))); });
}

}  // namespace scalecalc::moments
