#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "moments/along_mean.hpp"
#include "moments/along_tokens.hpp"
#include "moments/equal_words.hpp"
#include "moments/kept_input.hpp"
#include "moments/norm_tokens.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/sample_norm.hpp"

/// The way back through a norm (docs/theory/layers.md#norm-tokens,
/// docs/theory/layers.md#norm-samples).
namespace scalecalc::moments {

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

/// The samples that centred states of this norm are about.
template <class X>
Counts samples_of(const NormRecord<X>& record, const Counts& counts) {
  return {counts.tokens, record.over_batch ? counts.batch : 1};
}

/// Of a gradient that is tied to y, E (sum y g)^2/n^2 beyond that of one that is not, of which a
/// norm over n samples takes 1/n along y; and E of the product of two images' where each has a norm
/// of its own.
struct TakenAlong {
  double within = 0, between = 0;
};
template <class X>
TakenAlong taken_along(const NormRecord<X>& record, const Gradient<X>& gradient,
                       const Counts& over) {
  if constexpr (std::is_same_v<typename X::Number, double>) {
    if (!gradient.slope_correlation) return {};
    const X more =
        sum(along_output(record.output, gradient), scaled(product(record.output, gradient.x), -1));
    const double taken =
        pair_sum(more, over.tokens, over.batch) / (over.samples() * over.samples());
    return {taken, record.over_batch ? taken : average(more).between};
  }
  return {};
}
/// What a norm over samples takes of dk/dr: besides, of a gradient that is random to y, g_t g_u
/// loses g y_t y_u/n with a feature's own y_t y_u (docs/theory/finite-width.md#overlap-slopes). Not
/// of an image, whose neighbours have gradients in common.
template <class X>
TakenAlong taken_of_overlaps(const NormRecord<X>& record, const Gradient<X>& g,
                             const Counts& over) {
  TakenAlong taken = taken_along(record, g, over);
  if constexpr (std::is_same_v<typename X::Number, double>) {
    const double second = average(g.x).second, apart = over_samples(average(g.x), over);
    // Of gradients that are all but the same at all samples rounding is left.
    constexpr double steps = 64;
    const double rounding = steps * over.samples() * std::numeric_limits<double>::epsilon();
    if (apart <= rounding * std::fabs(second)) return taken;
    const double random = g.directions.samples * apart / over.samples();
    taken.within += random;
    if (record.over_batch) taken.between += random;
  }
  return taken;
}
/// dk/dr without it.
inline OverlapSlopes slopes_across(const OverlapSlopes& slopes, const TakenAlong& taken,
                                   const OverlapDeviation& y) {
  return slopes + OverlapSlopes{{-taken.within, -taken.within * y.coherent},
                                {-taken.between, -taken.between * y.coherent * y.apart}};
}

/// (I - y y^T/n)/s of a centred gradient, and what it takes more where that is tied to y.
template <class C, class X>
X across_samples(const C& calculus, const NormRecord<X>& record, const Gradient<X>& gradient,
                 const X& inside, const Counts& over) {
  const double scale = average(record.factors).second;
  const double radial = gradient.directions.samples;
  if constexpr (std::is_same_v<X, PerPosition>) {
    if (record.directions) {
      const PerPosition left = scaled(record.directions->back(inside, radial), scale);
      const double taken = scale * taken_along(record, gradient, over).within;
      return taken != 0 ? sum(left, scaled(record.output, -taken)) : left;
    }
  }
  SampleLevels to = record.orders.back(sample_levels(values_of(calculus, inside), over), radial);
  if (gradient.slope_correlation) {
    const double taken = taken_along(record, gradient, over).within;
    const SampleLevels along = sample_levels(values_of(calculus, record.output), over);
    to.within -= along.within * taken;
    to.between -= along.between * taken;
  }
  return at_levels(scaled(inside, scale), record.orders.within(radial),
                   {scale * to.within, scale * to.between}, over);
}

/// P g/s, P what a norm projects onto: of g' along the output y nothing is left.
template <class C, class X>
void sums_through_norm(const C& calculus, const NormRecord<X>& record, const Gradient<X>& g,
                       const Counts& over, std::vector<WithSum<X>>& sums) {
  using N = typename C::Number;
  using std::sqrt;
  const double inverse = record.over_samples ? record.inverse() : 1;
  for (WithSum<X>& one : sums) {
    const X across = sum(
        one.product, scaled(without_mean(record.output), N(-calculus.real(one.along) * g.aligned)));
    const N root = N(1 / sqrt(N(average(record.factors).second * calculus.real(inverse))));
    if (record.over_samples) {
      Gradient<X> with = g;
      with.slope_correlation.reset();
      X inside = centred(across, calculus.real(over.tokens), calculus.real(over.batch));
      if (!record.over_batch) inside = without_between(inside);
      if constexpr (C::next_orders)
        one.product = across_samples(calculus, record, with, inside, over);
      else
        one.product = product(inside, record.factors);
    } else {
      one.product = projected(calculus, record.projection, record.output, g.directions,
                              product(across, record.factors));
    }
    one.product = scaled(one.product, N(root * calculus.real(mean_inverse_root(inverse))));
    one.along *= calculus.value(N(1 / root));
    if (g.along_mean) one.left_out += 1;
  }
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
    const double scatter = own.scatter * own.along * own.along,
                 alone = own.targets * own.along * own.along;
    const X more = map(
        output,
        [&](const T& u) {
          return T{0, -(scatter + alone) * u.second};
        },
        [&](const T& t, const T& u, double cross) {
          const double size = std::sqrt(t.second * u.second);
          return 2 * whole * own.along * (cross - own.same * size) - own.same * scatter * size;
        });
    return sum(across, more);
  }
  return across;
}

/// All that a gradient has along the output of its own token, that which is along other tokens'
/// too.
template <class X>
typename X::Number along_own(const X& output, const Gradient<X>& g,
                             const typename X::Number& tokens) {
  const auto m = average(output).second;
  return m > 0 ? average(over_tokens(*g.along_tokens, output, tokens)).second / m : g.aligned;
}

/// Of a gradient along the outputs of all tokens a norm takes out what is along its own,
/// `whole`, where the rest of a pair's is not along both (docs/theory/attention.md#along-tokens).
template <class X>
X across_tokens(const X& output, const typename X::Number& whole, const Gradient<X>& g,
                const typename X::Number& tokens, const OwnWord& own, X across, X& left) {
  using N = typename X::Number;
  using T = Token<N>;
  const X along = over_tokens(left, output, tokens);
  const X both = scaled(sum(along, transposed(along)), N(-whole));
  // Of along x_t alone pairs would have aligned x_t.x_u.
  across = sum_cross(across, sum(both, scaled(output, N(2 * whole * g.aligned))));
  // K of what is left: nothing of all along a token's own.
  left = zip(
      left, along,
      [&](const T& k, const T& all) {
        return T{N(0), N(k.second - all.second - own.along)};
      },
      [](const T&, const T&, const N& cross, const N&) { return cross; });
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
  out.beyond_pairs = 0;
  if constexpr (C::next_orders) {
    if (!gradient.along_mean)
      out.equal_words =
          equal_below_norm(gradient.equal_words, values_of(calculus, gradient.x).second,
                           values_of(calculus, record.output), whole, own);
    // Of w e + a x the norm leaves w e and, along the stream, what it took of that.
    const double scale = values_of(calculus, record.factors).second;
    out.own.word = own.word * std::sqrt(scale);
    out.own.one_kind = own.one_kind;
    out.own.same = own.same;
    out.own.seen = own.seen;
    out.own.normed = true;
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
  if constexpr (C::next_orders) {
    if (record.over_samples) out.along_tokens.reset();
    if (out.along_tokens) {
      across = across_tokens(record.output, whole, gradient, tokens, own, std::move(across),
                             *out.along_tokens);
      *out.along_tokens = product(*out.along_tokens, record.factors);
      out.aligned = average(*out.along_tokens).second;
    }
  }
  out.follows_size = record.over_samples ? 0 : record.projection.w;
  if (!record.over_samples) out.size_exponent = -record.projection.w;
  const bool of_stream = record.dropped && record.dropped->of_stream;
  if (of_stream) out.size_power += out.follows_size;
  out.of_values = record.values;
  // Of a gradient that is all along what the norm takes out rounding is left, of either sign.
  const auto is_rounding = [&](const X& left, const N& samples) {
    constexpr double steps = 64;
    const double rounding =
        steps * calculus.value(samples) * std::numeric_limits<double>::epsilon();
    return values_of(calculus, left).second <=
           rounding * std::fabs(values_of(calculus, gradient.x).second);
  };
  if (!record.over_samples) {
    if constexpr (C::next_orders) {
      if (is_rounding(across, N(1))) across = scaled(across, N(0));
    }
    out.x = projected(calculus, record.projection, record.output, gradient.directions,
                      product(across, record.factors));
    if constexpr (C::next_orders) {
      if (of_stream && gradient.size_power > 0)
        out.x = scaled(out.x, inverse_below(*record.dropped, gradient.size_power));
    }
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
  out.of_populations = record.populations;
  const N sequences = record.over_batch ? batch : N(1);
  out.directions.samples = 0;
  out.tie.reset();
  X inside = centred(across, tokens, sequences);
  if (!record.over_batch) inside = without_between(inside);
  if constexpr (C::next_orders) {
    out.x = across_samples(calculus, record, gradient, inside,
                           {calculus.value(tokens), calculus.value(sequences)});
    if (is_rounding(inside, tokens * sequences)) out.x = scaled(out.x, N(0));
    if (record.constant > 0) out.at_constant = scaled(inside, record.constant);
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
      const double taken = gradient.directions.samples * record.inverse() *
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

}  // namespace scalecalc::moments
