#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "moments/activation_backward.hpp"
#include "moments/activation_bend.hpp"
#include "moments/activation_chain.hpp"
#include "moments/activation_error.hpp"
#include "moments/activation_moments.hpp"
#include "moments/along_mean.hpp"
#include "moments/backward_pass.hpp"
#include "moments/forward_pass.hpp"
#include "moments/gradient_error.hpp"
#include "moments/image_profile.hpp"
#include "moments/mixed_activation.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/sample_activation.hpp"
#include "moments/stream_activation.hpp"
#include "moments/token_distance.hpp"
#include "moments/words.hpp"

/// y = phi(x), x Gaussian (docs/theory/layers.md#activation): m' = E phi^2, r' = E phi(u)phi(v);
/// back g = g' E phi'^2, k = k' E phi'(u)phi'(v).
namespace scalecalc::moments {

template <class C, class X>
X mixed_values(C& calculus, const typename C::Function& phi, const Signal<X>& in, Moment second,
               Moment pair) {
  if constexpr (C::next_orders)
    return mixed_expectations(calculus, phi, in.mixture, in.x, second, pair);
  else
    return in.x;
}

/// The kinds of features that go in come out with other sizes.
template <class C, class X>
void mix_kinds(C& calculus, const typename C::Function& phi, const Signal<X>& in, Signal<X>& out,
               ActivationRecord<X>& record) {
  const Alike<double> x = values_of(calculus, in.x);
  const KindSizes sizes = kind_sizes(calculus, phi, in.mixture, x, Moment::second, Moment::cross);
  out.mixture = with_sizes(in.mixture, sizes.second, sizes.cross);
  out.kurtosis *= out.mixture.square();
  record.kinds =
      kinds_of(kind_sizes(calculus, phi, in.mixture, x, Moment::slope_second, Moment::slope_cross),
               in.mixture);
}

template <class C, class X>
void note_slope_correlation(C& calculus, const typename C::Function& phi, const X& x,
                            ActivationRecord<X>& record) {
  if constexpr (C::next_orders) {
    const Alike<double> u = values_of(calculus, x);
    const double variance = u.second - u.mean * u.mean;
    if (variance > 0)
      record.slope_correlation =
          slope_correlation_of(calculus, calculus.width(phi, u.mean, variance), x);
  }
}

/// Sums u of n inputs by weights of a fourth cumulant kappa have kappa E x^4/(n m^2) for their own,
/// of two independent tokens kappa/n: E phi^2 and E phi get a sixth of q^2 d^2/dq^2 of it, E
/// phi(u)phi(v) the square of q dE phi/dq of the latter, and what E phi^2 has as far as both are
/// one (docs/theory/layers.md#weight-cumulant). Of a phi that is seldom not 0 the first term of the
/// expansion may be as large as what it corrects, and is then stated as left out.
template <class C, class X>
void add_weight_cumulant(C& calculus, const WidthMoments& phi, const Signal<X>& in,
                         const Alike<double>& x, X& y) {
  constexpr double small = 0.5;
  const double own = in.weight_cumulant * in.input_kurtosis / 6;
  const double relative = std::fabs(own * phi.curvature);
  if (!(relative < small)) {
    calculus.omit(relative, relative);
    return;
  }
  calculus.omit(relative * relative, relative * relative);  // its square
  const Alike<double> made = average(y);
  const double mean = own * phi.mean_curvature, second = made.second * own * phi.curvature;
  // Of odd phi both are rounding.
  constexpr double least = 1e-6;
  const double rise = std::fabs(made.mean) > least * std::sqrt(std::max(made.second, 0.0))
                          ? phi.rise_series[0] / made.mean
                          : 0;
  const double apart = 2 * made.mean * mean + in.weight_cumulant * rise * rise;
  const auto pair = [&](double cross) {
    const double c = x.second > 0 ? cross / x.second : 0;
    return apart + c * c * (second - apart);
  };
  y = with_bounded_cross(
      sum(y, uniform(y, Alike<double>{mean, second, pair(x.cross), pair(x.between)})));
}

/// E phi, E phi^2 and E phi(u)phi(v) of a signal's features.
template <class C, class X>
X value_expectations(C& calculus, const typename C::Function& phi, const Signal<X>& in) {
  if (has_words(in))
    return with_words(expectations(calculus, phi, of_words(in.x, in.repeats)), in.repeats);
  if constexpr (C::next_orders) {
    if (mixes(in.mixture, values_of(calculus, in.x)) && !in.law)
      return mixed_values(calculus, phi, in, Moment::second, Moment::cross);
  }
  return expectations(calculus, phi, in.x);
}

/// At the mean and the variance of a signal's features.
template <class C, class X>
const WidthMoments& width_of(C& calculus, const typename C::Function& phi, const Signal<X>& in) {
  const Alike<double> x = values_of(calculus, in.x);
  return calculus.width(phi, x.mean, x.second - x.mean * x.mean);
}

template <class C, class X>
Signal<X> activation_forward(C& calculus, const typename C::Function& phi, const Signal<X>& in,
                             const Counts& counts, Wanted wanted, ActivationRecord<X>& record) {
  Signal<X> out = in;
  out.normalised = false;
  bool mixed = false;
  if constexpr (C::next_orders)
    mixed = mixes(in.mixture, values_of(calculus, in.x)) && !has_words(in) && !in.law;
  const bool words = has_words(in) && !mixed;
  const auto over_words = [&](const auto& rule) {
    return words ? with_words(rule(calculus, phi, of_words(in.x, in.repeats)), in.repeats)
                 : rule(calculus, phi, in.x);
  };
  out.x = value_expectations(calculus, phi, in);
  double bent = 0, not_gaussian = 1;
  if (wanted.slopes) {
    record.slopes = mixed
                        ? mixed_values(calculus, phi, in, Moment::slope_second, Moment::slope_cross)
                        : over_words(slope_expectations<C, X>);
    if (wanted.slope_correlation) note_slope_correlation(calculus, phi, in.x, record);
  }
  if constexpr (C::next_orders) {
    if (in.law) not_gaussian = add_stream_law(calculus, phi, in, wanted, record, out.x);
    if ((in.size_excess < 0 || in.normalised) && !mixed)
      add_sample_excess(calculus, phi, in, record, out.x);
    if (!mixed)
      bent =
          add_bend(calculus, phi, words ? of_words(in) : in, words ? in.repeats : 0, counts, out.x);
  }
  if (wanted.slopes) {
    double slope_kurtosis = 1;
    if constexpr (C::next_orders) slope_kurtosis = width_of(calculus, phi, in).slope_kurtosis;
    out.overlap = overlap_through_activation(calculus, words ? of_words(in) : in, record.slopes,
                                             out.x, slope_kurtosis);
    if constexpr (C::next_orders) out.overlap.noise += bent;
    out.fresh = 0;
    if (words) add_word_overlap(out);
  }
  if constexpr (C::next_orders) {
    const Alike<double> x = values_of(calculus, in.x);
    const double variance = x.second - x.mean * x.mean;
    const WidthMoments& moments = width_of(calculus, phi, in);
    const auto width = static_cast<double>(in.width);
    const auto sizes = [&](double scale) { return calculus.sizes(phi, x.mean, variance * scale); };
    if (in.weight_cumulant != 0 && !mixed) add_weight_cumulant(calculus, moments, in, x, out.x);
    const LogSize size = log_size(in.spread, width);
    const bool apart = in.spread.log_range > 0;
    const Passage passed = passage(sizes, moments, apart ? LogSize{} : size, width);
    const double far = log_range_of(calculus, in.spread, size, passed, moments.exponent);
    record.passage = {passed, in.spread, x, moments.slope_kurtosis};
    record.second = values_of(calculus, out.x).second;
    record.width = in.width;
    record.truncation = in.truncation;
    record.slope_exponent = moments.slope_exponent;
    if (wanted.slopes) {
      note_own_gradient(calculus, moments, in.x, out.x, record);
      if (mixed) note_mixed_own(calculus, phi, in.mixture, in.x, out.x, record);
      if (in.normalised) {
        record.own_mean = mean_of_own_gradient(calculus, phi, x);
        if (!mixed && x.second > 0)
          record.own = sum(record.own,
                           uniform(record.own, own_scatter(calculus, phi, x, apart_of_tokens(in))));
      }
      if (x.mean != 0) record.own_slope_mean = mean_of_own_gradient(calculus, phi, x);
    }
    double distance = 1;
    if (wanted.slopes) {
      const Alike<double> y = values_of(calculus, out.x);
      distance = distance_slope(values_of(calculus, record.slopes).cross, x.second - x.cross,
                                y.second - y.cross);
    }
    out.spread = through_activation(in.spread, passed, moments, x, width, counts, distance);
    for (RelativeError* bound : {&out.error, &out.truncation})
      *bound = error_through(calculus, *bound, x, values_of(calculus, out.x), moments,
                             wanted.slopes ? &record.slopes : nullptr);
    if (far > 0) {
      const SizeMoments up = sizes(std::exp(far)), down = sizes(std::exp(-far));
      out.spread = beyond_lognormal(
          in.spread, std::max({far, log_ratio(up.second, moments.second), std::log(2.0)}),
          moments.kurtosis / width);
      record.passage.log_range = std::max(std::fabs(log_ratio(up.slope, moments.slope)),
                                          std::fabs(log_ratio(down.slope, moments.slope)));
      add_range(out.truncation, out.spread.log_range);
    }
    if (record.second > 0)
      out.truncation.mean += std::fabs(moments.mean_curvature) / 2 * std::max(0.0, size.variance) /
                             std::sqrt(record.second);
    out.mean_pairs = 0;
    if (!apart && !mixed && !(in.size_excess < 0 || in.normalised)) {
      const Alike<double> pair =
          scaled(size_bend(moments, size.variance, in.spread, x, counts, width, out.x),
                 1 - (words ? in.repeats : 0));
      out.mean_pairs = pair.cross;
      out.x = with_bounded_cross(sum_cross(out.x, uniform(out.x, pair)));
    }
    // Products of what a norm over samples right before does to sizes, and to pairs of samples.
    if (in.size_excess < 0) {
      const double products = -in.size_excess / 2;
      calculus.omit(products, products);
      if (record.second > 0)
        out.truncation.mean +=
            products * std::fabs(values_of(calculus, out.x).mean) / std::sqrt(record.second);
    }
    // A token's size and its features' both bend E phi^2; that they do it together is left out.
    const double bends =
        std::fabs(in.size_excess * moments.curvature) * std::max(0.0, size.variance) / 2;
    calculus.omit(bends, bends);
    const double skewed = std::fabs(in.spread.skewness * moments.skew_effect),
                 uneven = in.spread.position_variance / 8;
    // Without weights between this activation and one before, features are not Gaussian: a fourth
    // moment of the input stands for what E phi^2 may be off by (of a law, how two samples meet).
    record.heavy = not_gaussian * std::fabs(in.kurtosis / (mixed ? in.mixture.square() : 1) / 3 -
                                            1 - in.size_excess);
    record.heavy_slopes = unknown_slopes(phi->activation(), x, moments.slope, record.heavy);
    // Features of a law are far from Gaussian: a fourth cumulant is no first order of it.
    const double known = in.law ? double(record.heavy)
                                : known_heavy(calculus, phi, in, x, values_of(calculus, out.x),
                                              moments, record.heavy);
    calculus.omit(known, known);
    out.kurtosis = moments.kurtosis;
    const double slope = wanted.slopes ? values_of(calculus, record.slopes).cross : 0;
    out.mask_overlap *= slope * slope;
    out.size_excess = out.sphere_excess = out.map_overlap = out.weight_cumulant = 0;
    out.head_overlap = {};
    out.mixture = {};
    out.flat = {phi->activation().name(), x, false, std::max(0.0, size.variance),
                mixed ? cells_of_kinds(phi->activation(), in.mixture, x.second) : record.cells};
    out.law.reset();
    if (mixed) mix_kinds(calculus, phi, in, out, record);
    out.spread.skewness = moments.skew;
    out.spread.position_variance =
        moments.exponent * moments.exponent * in.spread.position_variance;
    calculus.omit(skewed + uneven, skewed + uneven);
    // Each token has a size of its own in a draw, and E phi goes with its root.
    const Alike<double> y = values_of(calculus, out.x);
    if (y.second > 0)
      out.truncation.mean += std::max(0.0, in.spread.token_variance - 2 / width) / 8 *
                             std::fabs(y.mean) / std::sqrt(y.second);
    calculus.assume("activation", "inputs are Gaussian given the layer before", "1/width",
                    1 / static_cast<double>(in.width), 0.1);
  }
  return out;
}

template <class C, class X>
struct Kept<ActivationLayer, C, X> {
  Places at;
  ActivationRecord<X> record;
  ActivationOverlaps overlaps{};
  double error = 0;  ///< of the slopes, absolute
  bool is_identity = false;
  /// Behind another activation, `record` being of both: this one's own slopes.
  Seldom<ChainSlopes<X>> last{};
  Seldom<X> mean_slopes{};  ///< inside a branch without weights
  Seldom<ProfileThrough> profile{};
};

/// Where an activation shows.
struct ActivationSite {
  const std::string& path;
  const char* kind = "activation";
};

/// y = phi(x), or a function of several activations of what the first of them was given.
template <class C, class X>
Signal<X> step_through(ForwardPass<C, X>& pass, const ActivationSite& site,
                       const std::string& function, const Signal<X>& given,
                       Seldom<ChainSlopes<X>> last) {
  C& calculus = pass.calculus();
  Kept<ActivationLayer, C, X> kept;
  kept.last = std::move(last);
  const auto phi = calculus.function(function);
  std::optional<Signal<X>> level;
  if constexpr (has_profiles<C, X>) {
    if (given.profile) {
      level = given;
      Profile profile = take_profile(*level);
      kept.profile = profile_through(calculus, phi, level->x, std::move(profile));
    }
  }
  const Signal<X>& x = level ? *level : given;
  if constexpr (C::next_orders) {
    if (pass.backward()) {
      kept.overlaps.input = overlap_deviation(calculus, x);
      note_kernels(calculus, phi, values_of(calculus, x.x), pass.counts(x), kept.overlaps);
    }
  }
  const Wanted wanted{pass.backward(), pass.backward() && pass.wants_slope_correlation()};
  Signal<X> y = activation_forward(calculus, phi, x, pass.counts(x), wanted, kept.record);
  if (x.with_inputs) {
    kept.mean_slopes = mean_slopes(calculus, phi, x.x);
    input_through_activation<C>(*kept.mean_slopes, x, y);
  }
  if constexpr (C::next_orders) {
    kept.overlaps.output = overlap_deviation(calculus, y);
    kept.overlaps.product = values_of(calculus, y.x);
  }
  kept.error = calculus.take_slope_error();
  if (kept.profile) give_sizes(y, kept.profile->values, kept.profile->value_rows);
  kept.at = {pass.site(site.path, site.kind, y), 0, x.tokens};
  pass.template keep<ActivationLayer>(std::move(kept));
  return y;
}

/// `chain`: what an activation right before it was given.
template <class C, class X>
Signal<X> activation_step(ForwardPass<C, X>& pass, const ActivationSite& site,
                          const std::string& function, Signal<X> x,
                          std::optional<ActivationChain<X>> chain) {
  Seldom<ChainSlopes<X>> last;
  std::optional<std::string> both;
  if constexpr (C::next_orders) {
    both = chain ? composed(function, chain->function) : std::nullopt;
    if (both && pass.backward()) last = chain_slopes(pass.calculus(), function, *chain);
    if (pass.backward() && !last) both.reset();
  }
  if (!both)
    chain = {function, std::move(x)};
  else
    chain->function = *both;
  Signal<X> y = step_through(pass, site, chain->function, chain->input, std::move(last));
  if (pass.chain_follows()) pass.set_chain(std::move(*chain));
  return y;
}

/// y = x: whatever is known of x is known of y, and of a gradient likewise.
template <class C, class X>
Signal<X> identity_step(ForwardPass<C, X>& pass, const ActivationSite& site, Signal<X> x) {
  Kept<ActivationLayer, C, X> kept;
  kept.is_identity = true;
  kept.at = {pass.site(site.path, site.kind, x), 0, x.tokens};
  pass.template keep<ActivationLayer>(std::move(kept));
  return x;
}

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const ActivationLayer& layer, Signal<X> x) {
  pass.calculus().enter(layer.path);
  if (layer.function == "identity") return identity_step(pass, {layer.path}, std::move(x));
  return activation_step(pass, {layer.path}, layer.function, std::move(x), pass.take_chain());
}

/// phi' g outside of plain stacks.
template <class C, class X>
void covariance_through_activation(const C& calculus, const ActivationRecord<X>& record,
                                   const Gradient<X>& g, const Counts& counts,
                                   LogCovariance& logs) {
  const BackPassage& passed = record.passage;
  const auto width = static_cast<double>(record.width);
  const double latent = passed.forward.batch_variance - 2 / width * pairs_squared(passed.x, counts);
  const double follows = passed.passage.back_slope * passed.passage.back_slope;
  covariance_through_slopes(logs,
                            {values_of(calculus, record.slopes), passed.x, passed.slope_kurtosis,
                             follows * std::max(latent, 0.0), width},
                            values_of(calculus, g.x), counts);
}

/// Below an activation whose gradient has these p and v above; windows have slopes of their own.
inline void slopes_with_profiles(const Seldom<ProfileThrough>& through, bool below_windows,
                                 Eigen::ArrayXd sizes, Eigen::ArrayXd rows,
                                 Gradient<Alike<double>>& out) {
  if (through && !below_windows) {
    sizes *= through->slopes;
    rows *= through->slope_rows;
  }
  give_sizes(out, sizes, rows);
  if (!out.slope_correlation) return;
  const Profile input = through ? through->input : nullptr;
  SlopeCorrelation<Alike<double>>& known = *out.slope_correlation;
  known.input = unlevelled(known.input, input);
  known.product =
      product(unlevelled(unlevelled(scaled(known.product, sizes.mean()), input), out.profile),
              together(input, out.profile));
}

template <class C, class X>
Gradient<X> activation_back(BackwardPass<C, X>& pass, Gradient<X> g) {
  C& calculus = pass.calculus();
  const auto& kept = pass.template take<ActivationLayer>();
  pass.note_below_norm(kept.at.site, g);
  if (kept.is_identity) return g;
  if (g.below_chain) {
    if (!kept.last) return *g.below_chain;
    g.x = product(g.x, kept.last->slopes);
    g.of_stream.reset();
    return g;
  }
  const Counts counts = pass.counts(kept.at.tokens);
  const Profile above = take_profile(g);
  Gradient<X> out = activation_backward(calculus, kept.record, g, counts);
  add_slope_error(calculus, out, g, kept.error);
  if (g.with_sums && kept.mean_slopes)
    sums_through_activation(calculus, *kept.mean_slopes, kept.record, g, *out.with_sums);
  if constexpr (C::next_orders) {
    if (!g.coupling)
      covariance_through_activation(calculus, kept.record, g, counts, out.log_covariance);
    const Alike<double> k = values_of(calculus, g.x);
    // Of a gradient along phi(u) each feature's own product is known (note_own_gradient).
    const double along = g.along_mean ? 0 : calculus.value(g.aligned);
    auto [slopes, bend] = slopes_below(g.slopes, along * along, k, kept.overlaps);
    const Alike<double>& more = bend.kept;
    if (more.cross != 0 || more.between != 0)
      out.x = with_bounded_cross(sum_cross(out.x, uniform(out.x, more)));
    if (bend.left_out > 0) out.error.cross += bend.left_out / values_of(calculus, out.x).second;
    out.slopes = slopes;
  }
  const bool below_windows = static_cast<bool>(out.below_activation);
  take_below_activation(out);
  if constexpr (has_profiles<C, X>) {
    if (above || kept.profile) {
      slopes_with_profiles(kept.profile, below_windows, sizes_of(above, kept.at.tokens),
                           rows_of(above, kept.at.tokens), out);
    }
  }
  if (kept.last) {
    const X along = scaled(kept.last->own, typename C::Number(g.aligned * g.aligned));
    g.x = product(g.x, kept.last->slopes);
    if (!g.along_mean) g.x = sum(g.x, along);
    if constexpr (has_profiles<C, X>) {
      g.x = unlevelled(g.x, above);
      g.profile = above;
    }
    g.of_stream.reset();
    g.below_chain = std::make_shared<const Gradient<X>>(std::move(out));
    return g;
  }
  return out;
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const ActivationLayer&, Gradient<X> g) {
  return activation_back(pass, std::move(g));
}

}  // namespace scalecalc::moments
