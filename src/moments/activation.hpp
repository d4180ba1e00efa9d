#pragma once

#include <algorithm>
#include <cmath>

#include "moments/calculus.hpp"
#include "moments/mixed_activation.hpp"
#include "moments/spread.hpp"
#include "moments/words.hpp"

/// y = phi(x), x Gaussian (docs/theory/layers.md#activation): m' = E phi^2, r' = E phi(u)phi(v);
/// back g = g' E phi'^2, k = k' E phi'(u)phi'(v).
namespace scalecalc::moments {

template <class X>
struct ActivationRecord {
  X slopes;  ///< E phi'^2 and E phi'(u)phi'(v)
  BackPassage passage;
  std::int64_t width = 0;
  double slope_exponent = 0;  ///< of WidthMoments
  Doubt truncation;           ///< of x
  NonNegative heavy = 0;      ///< how far the fourth moment of x is from a Gaussian's
  KindGradient kinds;         ///< what phi' makes of a gradient
  /// Of a gradient phi(u): what it passes on beyond E phi^2 E phi'^2, and how far along u.
  X own;
  double alignment = 0;
  /// Of x about its mean: E x_t x_u, and E x_t x_u phi'(x_t) phi'(x_u). Empty for a constant x, and
  /// where not wanted.
  std::optional<Tie<X>> tie;
};

/// What a backward pass is going to ask of the record.
struct Wanted {
  bool slopes = false, tie = false;
};

/// E phi and E phi^2 of tokens, E phi(u)phi(v) of pairs.
template <class C, class X>
X expectations(C& calculus, const typename C::Function& phi, const X& x) {
  using T = Token<typename C::Number>;
  return map(
      x,
      [&](const T& u) {
        return T{calculus.expectation(phi, Moment::mean, u),
                 calculus.expectation(phi, Moment::second, u)};
      },
      [&](const T& u, const T& v, const auto& cross) {
        return calculus.pair(phi, Moment::cross, u, v, cross);
      });
}

template <class C, class X>
X slope_expectations(C& calculus, const typename C::Function& phi, const X& x) {
  using N = typename C::Number;
  using T = Token<N>;
  return map(
      x,
      [&](const T& u) {
        return T{N(0), calculus.expectation(phi, Moment::slope_second, u)};
      },
      [&](const T& u, const T& v, const auto& cross) {
        return calculus.pair(phi, Moment::slope_cross, u, v, cross);
      });
}

/// The centred overlap passes with the slope E phi'(u)phi'(v); n features have their own noise,
/// (E phi^2 phi'^2 - (E phi phi')^2)/n, that of the linear map before in it.
template <class C, class X>
Overlap<typename C::Number> overlap_through_activation(const C& calculus,
                                                       const Overlap<typename C::Number>& in,
                                                       const X& slopes, const X& y,
                                                       std::int64_t width) {
  using N = typename C::Number;
  const auto slope = average(slopes).cross;
  const auto moments = average(y);
  const N apart = moments.second - moments.cross, square = moments.mean * moments.mean;
  const N centred = moments.second - square;
  // Var phi(u)phi(v) of independent u and v is m^2 - mean^4, D = m - mean^2 there.
  N own = apart * apart;
  if constexpr (C::next_orders) {
    if (calculus.value(centred) > 0) own = own * (moments.second + square) / centred;
  }
  return {in.coherent * slope, in.noise * slope * slope + own / calculus.size(width, "width")};
}

/// A gradient phi(u) becomes phi'(u) phi(u): E phi'^2 phi^2 in place of the product, of which
/// E u phi phi'/q goes along u.
template <class C, class X>
void note_own_gradient(C& calculus, const WidthMoments& moments, const X& x, const X& y,
                       ActivationRecord<X>& record) {
  using N = typename C::Number;
  using T = Token<N>;
  const Alike<double> from = values_of(calculus, x), to = values_of(calculus, y);
  const double q = from.second - from.mean * from.mean;
  record.alignment = q > 0 ? moments.exponent * to.second / q : 0;
  const X whole = map(
      x,
      [&](const T&) {
        return T{N(0), calculus.real(moments.own_pair(1))};
      },
      [&](const T& t, const T& u, const N& cross) {
        const double s = calculus.value(t.second), v = calculus.value(u.second);
        const double c = s * v > 0 ? calculus.value(cross) / std::sqrt(s * v) : 0;
        return calculus.real(moments.own_pair(std::clamp(c, -1.0, 1.0)));
      });
  const X apart = product(y, record.slopes);
  record.own = without_mean(combine(whole, apart, [](const N& a, const N& b) { return N(a - b); }));
}

template <class C, class X>
Tie<X> tie_of(C& calculus, const WidthMoments& moments, const X& x) {
  using N = typename C::Number;
  using T = Token<N>;
  const X input = map(
      x,
      [&](const T& u) {
        return T{N(0), variance_of(u)};
      },
      [](const T& t, const T& u, const N& cross) { return N(cross - t.mean * u.mean); });
  const X product = map(
      input,
      [&](const T&) {
        return T{N(0), calculus.real(moments.input_slope_pair(1))};
      },
      [&](const T& t, const T& u, const N& cross) {
        const double size = std::sqrt(calculus.value(t.second) * calculus.value(u.second));
        const double c = size > 0 ? std::clamp(calculus.value(cross) / size, -1.0, 1.0) : 0;
        return calculus.real(moments.input_slope_pair(c));
      });
  return {input, product, moments.slope_kurtosis - 1};
}

/// ln a/b, of sizes that may leave the range of a double.
inline double log_ratio(double a, double b) {
  const double found = std::log(a / b);
  return std::isnan(found) ? largest_log : std::clamp(found, -largest_log, largest_log);
}

/// How far up a draw of u may be: 0 while they stay together.
template <class C>
double far_of(C& calculus, const Spread& spread, const LogSize& x, const Passage& passed,
              double exponent) {
  if (spread.far > 0) return spread.far;
  // Of what comes out, with the noise of both ways: a map may be steep where infinite width is not.
  const double slope = std::max(exponent, passed.slope);
  const double variance = std::max(x.variance, passed.slope * passed.slope * x.variance +
                                                   passed.rest + passed.noise + passed.back_noise);
  if (!part_ways(variance, slope)) return 0;
  calculus.assume("activation", "draws of this width part ways: some die, some grow",
                  "variance of ln E x^2 where its map is steeper than 1", variance, 1);
  return std::min(std::max(0.0, x.mean) + far_deviations * std::sqrt(x.variance), largest_log);
}

/// E phi phi moves with r by E phi' phi', at most what it is on the way to two tokens that are one,
/// and with m where r stays by what is left of its growth with both.
template <class C, class X>
Doubt doubt_through(const C& calculus, const Doubt& of, const Alike<double>& x,
                    const Alike<double>& y, const WidthMoments& moments, const X* slopes) {
  const double both = std::fabs(moments.exponent);
  Doubt made{both * of.second, both * of.cross};
  const double apart = x.second - x.cross;
  if (slopes == nullptr || !(y.second > 0) || !(apart > 0)) return made;
  const Alike<double> slope = values_of(calculus, *slopes);
  const double reach = std::min(1.0, of.cross * x.second / apart);
  const double most = std::fabs(slope.cross) + reach * std::fabs(slope.second - slope.cross);
  const double by_r = most * x.second / y.second;
  const double by_m =
      std::fabs(moments.exponent * y.cross / y.second - slope.cross * x.cross / y.second);
  made.cross = std::min<double>(both * (of.cross + of.second), by_r * of.cross + by_m * of.second);
  return made;
}

/// Of E phi(u)phi(v), relative to E phi^2 = `second`: what it bends over overlaps that stray by
/// `variance`, half of it to either side.
template <class C>
double bend_of_pair(C& calculus, const typename C::Function& phi, const Alike<double>& x,
                    double second, double variance) {
  const double q = x.second - x.mean * x.mean;
  if (!(variance > 0) || !(second > 0) || !(q > 0)) return 0;
  const double room = std::min(x.second - x.cross, q + x.cross - x.mean * x.mean);
  const double strays = std::sqrt(variance), step = std::min(strays, std::max(room, 0.0));
  if (!(step > 0)) return 0;
  const Token<double> u{x.mean, x.second};
  const auto at = [&](double cross) { return calculus.pair(phi, Moment::cross, u, u, cross); };
  const double bend = std::fabs(at(x.cross + step) + at(x.cross - step) - 2 * at(x.cross)) / 2;
  return bend * variance / (step * step) / second;
}

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
Signal<X> activation_forward(C& calculus, const typename C::Function& phi, const Signal<X>& in,
                             const Counts& counts, Wanted wanted, ActivationRecord<X>& record) {
  Signal<X> out = in;
  out.normalised = false;
  bool mixed = false;
  if constexpr (C::next_orders) mixed = mixes(in.mixture, values_of(calculus, in.x));
  const bool words = has_words(in) && !mixed;
  const auto over_words = [&](const auto& rule) {
    return words ? with_words(rule(calculus, phi, of_words(in.x, in.repeats)), in.repeats)
                 : rule(calculus, phi, in.x);
  };
  out.x = mixed ? mixed_values(calculus, phi, in, Moment::second, Moment::cross)
                : over_words(expectations<C, X>);
  if (wanted.slopes) {
    record.slopes = mixed
                        ? mixed_values(calculus, phi, in, Moment::slope_second, Moment::slope_cross)
                        : over_words(slope_expectations<C, X>);
    const auto overlap = words ? of_words(in).overlap : in.overlap;
    out.overlap = overlap_through_activation(calculus, overlap, record.slopes, out.x, in.width);
    if (words) add_word_overlap(in.repeats, out);
  }
  if constexpr (C::next_orders) {
    const Alike<double> x = values_of(calculus, in.x);
    const double variance = x.second - x.mean * x.mean;
    const WidthMoments& moments = calculus.width(phi, x.mean, variance);
    const auto width = static_cast<double>(in.width);
    const auto sizes = [&](double scale) { return calculus.sizes(phi, x.mean, variance * scale); };
    const LogSize size = log_size(in.spread, width);
    const bool apart = in.spread.far > 0;
    const Passage passed = passage(sizes, moments, apart ? LogSize{} : size, width);
    const double far = far_of(calculus, in.spread, size, passed, moments.exponent);
    record.passage = {passed, in.spread, x, moments.slope_kurtosis};
    record.width = in.width;
    record.truncation = in.truncation;
    record.slope_exponent = moments.slope_exponent;
    if (wanted.slopes) note_own_gradient(calculus, moments, in.x, out.x, record);
    if (wanted.tie && variance > 0) record.tie = tie_of(calculus, moments, in.x);
    out.spread = through_activation(in.spread, passed, moments, x, width, counts);
    for (Doubt* doubt : {&out.error, &out.truncation})
      *doubt = doubt_through(calculus, *doubt, x, values_of(calculus, out.x), moments,
                             wanted.slopes ? &record.slopes : nullptr);
    if (far > 0) {
      const SizeMoments up = sizes(std::exp(far)), down = sizes(std::exp(-far));
      out.spread = apart_ways(in.spread,
                              std::max({far, log_ratio(up.second, moments.second), std::log(2.0)}),
                              moments.kurtosis / width);
      record.passage.far = std::max(std::fabs(log_ratio(up.slope, moments.slope)),
                                    std::fabs(log_ratio(down.slope, moments.slope)));
      out.truncation = doubt_of(out.spread.far);
    }
    calculus.omit(0, bend_of_pair(calculus, phi, x, values_of(calculus, out.x).second,
                                  (words ? of_words(in) : in).overlap.variance()));
    const double skewed = std::fabs(in.spread.skew * moments.skew_effect),
                 uneven = in.spread.uneven / 8;
    // Without weights between this activation and one before, features are not Gaussian: a fourth
    // moment of the input stands for what E phi^2 may be off by.
    record.heavy = std::fabs(in.kurtosis / (mixed ? in.mixture.square() : 1) / 3 - 1);
    calculus.omit(record.heavy, record.heavy);
    out.kurtosis = moments.kurtosis;
    out.mixture = {};
    out.flat.reset();
    if (!phi->activation().breaks().empty()) out.flat.emplace(phi->activation().name(), x);
    if (mixed) mix_kinds(calculus, phi, in, out, record);
    out.spread.skew = moments.skew;
    out.spread.uneven = moments.exponent * moments.exponent * in.spread.uneven;
    calculus.omit(skewed + uneven, skewed + uneven);
    // Each token has a size of its own in a draw, and E phi goes with its root.
    const Alike<double> y = values_of(calculus, out.x);
    if (y.second > 0)
      out.truncation.mean +=
          std::max(0.0, in.spread.one - 2 / width) / 8 * std::fabs(y.mean) / std::sqrt(y.second);
    calculus.assume("activation", "inputs are Gaussian given the layer before", "1/width",
                    1 / static_cast<double>(in.width), 0.1);
  }
  return out;
}

/// `g`: what came to phi, while `out` still follows what that did.
template <class C, class X>
void follow_through(const C& calculus, const ActivationRecord<X>& record, const Alike<double>& g,
                    Gradient<X>& out) {
  Follow& follow = *out.follow;
  const double along = follow.along, parallel = follow.parallel;
  const Passage& passed = record.passage.passage;
  const Alike<double> slopes = values_of(calculus, record.slopes);
  if (slopes.second > 0 && g.second > 0) {
    const double own = values_of(calculus, record.own).second;
    add_along(follow, own * along / (slopes.second * g.second), out.spread);
  }
  follow.along = along * record.alignment * record.alignment;
  follow.bent = 2 * record.slope_exponent;
  follow.sense = passed.back_slope + follow.sense * passed.slope;
  const double ratio = slopes.second > 0 ? slopes.cross / slopes.second : 1;
  const double uneven = (record.passage.slope_kurtosis - 1) * ratio * ratio;
  follow.tie *= ratio;
  follow.parallel =
      std::min(1.0, parallel * ratio * ratio + uneven * (1 + 2 * parallel) * (1 - parallel) /
                                                   static_cast<double>(record.width));
}

/// E phi'^2 and E phi'(u)phi'(v) where E u^2 and E u v are not known better: the second moves with
/// d ln E phi'^2/d ln q, the cross by the mean slope of the kernel between its cosine and 1
/// besides.
template <class C, class X>
Doubt slope_doubt(const C& calculus, const ActivationRecord<X>& record) {
  const Alike<double>& x = record.passage.x;
  const Alike<double> slopes = values_of(calculus, record.slopes);
  Doubt doubt{std::fabs(record.slope_exponent) * record.truncation.second + record.heavy, 0};
  doubt.cross = doubt.second;
  const double apart = x.second - x.cross;
  if (slopes.second > 0 && apart > 0)
    doubt.cross += record.truncation.cross * x.second / apart *
                   std::fabs(slopes.second - slopes.cross) / slopes.second;
  return doubt;
}

/// A gradient that has no mean, as it is taken for one: a doubt of ten times its size. What of it
/// is left below the activation is the share that few samples make.
inline constexpr double no_mean = 10;
inline double few_doubt(double alive, double few) {
  return 2 * few / alive;
}

template <class C, class X>
Gradient<X> activation_backward(const C& calculus, const ActivationRecord<X>& record,
                                const Gradient<X>& gradient, const Counts& counts) {
  Gradient<X> out = gradient;
  out.x = product(gradient.x, record.slopes);
  out.levels = {};
  out.uneven = 0;
  out.aligned = typename C::Number(0);
  if constexpr (C::next_orders) {
    out.tie = record.tie;
    if (out.tie) out.tie->product = product(out.tie->product, gradient.x);
    out.aligned = gradient.aligned * record.alignment;
    out.x = sum(out.x, scaled(record.own, typename C::Number(gradient.aligned * gradient.aligned)));
    const Alike<double> g = values_of(calculus, gradient.x);
    const Doubt doubt = slope_doubt(calculus, record);
    out.truncation.second += doubt.second;
    if (g.second > 0) out.truncation.cross += doubt.cross * std::fabs(g.cross) / g.second;
    const auto width = static_cast<double>(record.width);
    if (record.passage.far > 0) {
      out.spread = apart_ways(gradient.spread, gradient.spread.far + record.passage.far, 0);
      out.truncation = doubt_of(out.spread.far);
    } else if (gradient.follow) {
      out.spread =
          back_through_activation(gradient.spread, *gradient.follow, record.passage, width, counts);
    } else {
      out.spread = back_through_activation(gradient.spread, record.passage, g, width, counts);
    }
    if (gradient.spread.far > 0) out.spread.far = std::max(out.spread.far, gradient.spread.far);
    if (gradient.follow) follow_through(calculus, record, g, out);
    out.kinds = record.kinds;
    if (gradient.alive < 1) {
      // Features without a gradient from above have no slope either.
      out.x = scaled(out.x, typename C::Number(1 / gradient.alive));
      const double few = few_doubt(gradient.alive, gradient.few) - no_mean;
      out.truncation.second = std::max(0.0, out.truncation.second + few);
      out.truncation.cross = std::max(0.0, out.truncation.cross + few);
      out.alive = 1;
      out.few = 0;
    }
  }
  return out;
}

}  // namespace scalecalc::moments
