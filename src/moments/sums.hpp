#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

#include "moments/along_mean.hpp"
#include "moments/along_tokens.hpp"
#include "moments/backward_pass.hpp"
#include "moments/kept_input.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/sample_directions.hpp"
#include "moments/slope_correlation.hpp"
#include "moments/value_scatter.hpp"
#include "moments/words.hpp"

/// Sums of two signals, and of the gradients that come back by two ways.
namespace scalecalc::moments {

/// Of y = a x + b F with F = kappa x + F': s^2 -> ((a^2 + 2 a b kappa) s + b^2 s_F)^2 + what is
/// drawn apart, (a^2 + 2 a b kappa)^2 noise + b^4 noise_F, both of which hold x's where kappa is
/// not 0, and 2 (a^2 + 2 a b kappa) b^2 D D_F'/d (docs/theory/attention.md#overlap). `alone`: a^2 +
/// 2 a b kappa; `shared`: (b kappa)^2; `apart`, `branch_apart`: D, D_F'.
template <class N>
Overlap<N> overlap_of_sum(const Overlap<N>& stream, const Overlap<N>& branch, const N& alone,
                          const N& shared, const N& b2, const N& apart, const N& branch_apart,
                          const N& width) {
  using std::sqrt;
  const N together = alone * stream.coherent + b2 * branch.coherent;
  const N noise = alone * (alone + 2 * shared) * stream.noise + b2 * b2 * branch.noise +
                  2 * alone * b2 * apart * branch_apart / width;
  return {sqrt(N(together * together + noise)), N(0)};
}

/// s of a sum with what both means make together: each by itself is in s already.
template <class C, class X>
typename C::Number with_both_means(const C& calculus, double a2, const Signal<X>& stream, double b2,
                                   const Signal<X>& branch, const Signal<X>& sum) {
  const double width = static_cast<double>(stream.width);
  const auto of_mean = [&](const Signal<X>& x) {
    return overlap_of_mean(values_of(calculus, x.x), width);
  };
  const auto known = [&](const Signal<X>& x) {
    return std::min(of_mean(x), calculus.value(x.overlap.variance()) + x.fresh);
  };
  const double all = calculus.value(sum.overlap.variance());
  return std::sqrt(
      std::max(0.0, all + of_mean(sum) - a2 * a2 * known(stream) - b2 * b2 * known(branch)));
}

/// Of the sum's overlaps, what masks make: the branch's move with the stream's as far as its
/// overlaps do.
template <class C, class X>
double mask_of_sum(const C& calculus, const Signal<X>& stream, const Signal<X>& branch, double a2,
                   double b2) {
  const double whole = calculus.value(stream.overlap.variance()),
               moved = calculus.value(branch.overlap.coherent);
  const double follows =
      whole > 0 ? std::min(branch.mask_overlap, moved * moved * stream.mask_overlap / whole) : 0;
  const double together = a2 * std::sqrt(stream.mask_overlap) + b2 * std::sqrt(follows);
  return together * together + b2 * b2 * (branch.mask_overlap - follows);
}

/// How a sum of E y^2 = `total` follows |c|^2.
template <class C, class X>
void note_condition(const C& calculus, double a, const Signal<X>& stream, double b,
                    const Signal<X>& branch, double total, Signal<X>& sum) {
  const double left = a * a * values_of(calculus, stream.x).second * stream.by_condition,
               right = b * b * values_of(calculus, branch.x).second * branch.by_condition;
  sum.by_condition = (left + right) / total;
}

/// Third and fourth cumulants of a feature, from E x^4/(E x^2)^2 and its skewness over samples.
struct FeatureCumulants {
  double third = 0, fourth = 0;
};
template <class C, class X>
FeatureCumulants cumulants_of(const C& calculus, const Signal<X>& in, const Counts& counts) {
  const Alike<double> x = values_of(calculus, in.x);
  const double square = x.mean * x.mean;
  const double third = in.spread.skewness * std::pow(std::max(0.0, over_samples(x, counts)), 1.5);
  return {third,
          (in.kurtosis - 3) * x.second * x.second + 2 * square * square - 4 * x.mean * third};
}

/// E y^4/(E y^2)^2 of y = a x + b F = (a + b kappa) x + b F', whose cumulants add up where F' knows
/// nothing of x; `sum`: of y.
template <class C, class X>
double kurtosis_of_sum(const C& calculus, const Signal<X>& stream, const Signal<X>& branch,
                       double a, double b, double kappa, const Alike<double>& sum,
                       const Counts& counts) {
  if (!(sum.second > 0)) return 3;
  const FeatureCumulants x = cumulants_of(calculus, stream, counts),
                         f = cumulants_of(calculus, branch, counts);
  const auto both = [&](double of_x, double of_f, int order) {
    return std::pow(a + b * kappa, order) * of_x +
           std::pow(b, order) * (of_f - std::pow(kappa, order) * of_x);
  };
  const double third = both(x.third, f.third, 3), fourth = both(x.fourth, f.fourth, 4);
  const double square = sum.mean * sum.mean;
  const double excess = fourth + 4 * sum.mean * third - 2 * square * square;
  return std::max(1.0, 3 + excess / (sum.second * sum.second));
}

/// Of a sum with a shortcut: both ways start from one x, of `before`, and each follows that as far
/// as it says. `as_stream`: as of a branch beside what it started from, which stays where no
/// weights make both ways independent (no `width`).
inline NormVariance spread_of_ways(const NormVariance& before, const NormVariance& as_stream,
                                   const NormVariance& shortcut, const Alike<double>& x,
                                   const NormVariance& branch, const Alike<double>& f, double width,
                                   const Counts& counts) {
  NormVariance start = before;
  start_branch(start);
  NormVariance out =
      width > 0 ? through_branches(start, shortcut, branch, x, f, width, counts) : as_stream;
  out.distance_susceptibility = out.distance_susceptibility * before.distance_slope +
                                out.susceptibility * before.distance_susceptibility;
  out.distance_slope *= before.distance_slope;
  out.susceptibility *= before.susceptibility;
  return out;
}

/// Of what tokens differ by in a sum, each has what it has by its share.
inline HeadOverlap sum_of_heads(const HeadOverlap& left, const Alike<double>& x,
                                const HeadOverlap& right, const Alike<double>& f) {
  const double apart = x.second - x.cross, own = f.second - f.cross, all = apart + own;
  if (!(all > 0)) return {};
  const double p = apart * apart / (all * all), q = own * own / (all * all);
  return {p * left.one + q * right.one, p * left.average + q * right.average,
          p * left.sizes + q * right.sizes};
}

/// a x + b F of independent directions, or with `together`, E x F about the means.
template <class C, class X>
Signal<X> sum_forward(C& calculus, const typename C::Number& a, const typename C::Number& b,
                      const Signal<X>& stream, const Signal<X>& branch, const Counts& counts,
                      MixedSum* kinds = nullptr, const X* together = nullptr) {
  using N = typename C::Number;
  using T = Token<N>;
  const N a2 = a * a, b2 = b * b;
  Signal<X> out = stream;
  out.normalised = false;
  out.law.reset();
  out.summed.reset();
  // A branch makes 0 of 0, or adds to it.
  out.none = stream.flat || branch.flat ? 0 : std::min<double>(stream.none, branch.none);
  out.same_words = stream.same_words && branch.same_words;
  if (stream.own) out.own = scaled(*stream.own, a);
  if (branch.own)
    out.own = out.own ? sum(*out.own, scaled(*branch.own, b)) : scaled(*branch.own, b);
  const N both = 2 * a * b;
  out.x = zip(
      stream.x, branch.x,
      [&](const T& x, const T& f) {
        return T{a * x.mean + b * f.mean, a2 * x.second + b2 * f.second + both * x.mean * f.mean};
      },
      [&](const T&, const T&, const N& x, const N& f) { return N(a2 * x + b2 * f); });
  const auto x = average(stream.x), f = average(branch.x);
  const N shared = both * x.mean * f.mean;
  out.x = each_cross(out.x, [&](const N& cross) { return N(cross + shared); });
  if (together) out.x = sum(out.x, scaled(*together, both));
  out.with_inputs = sum_of_inputs(a, stream.with_inputs, b, branch.with_inputs);
  if constexpr (C::next_orders) {
    out.fresh = 0;
    if (stream.overlap_lags || branch.overlap_lags)
      out.overlap_lags =
          mixed_lags(stream.overlap_lags ? *stream.overlap_lags : OverlapLags{},
                     calculus.value(a2 * a2) * calculus.value(stream.overlap.variance()),
                     branch.overlap_lags ? *branch.overlap_lags : OverlapLags{},
                     calculus.value(b2 * b2) * calculus.value(branch.overlap.variance()));
    // F = kappa x and a rest.
    const Alike<double> covariance = together ? values_of(calculus, *together) : Alike<double>{};
    const double kappa = along_input(covariance, values_of(calculus, stream.x));
    // Of tokens that are alike D is 0, and what the difference leaves is rounding of either sign.
    out.overlap = overlap_of_sum(
        {stream.overlap.coherent, N(stream.overlap.noise + stream.fresh)},
        {branch.overlap.coherent, N(branch.overlap.noise + branch.fresh)}, N(a2 + both * kappa),
        N(b2 * kappa * kappa), b2, calculus.positive(N(x.second - x.cross)),
        calculus.positive(N(f.second - f.cross - kappa * kappa * (x.second - x.cross))),
        N(calculus.size(stream.width, "width")));
    out.overlap.coherent =
        with_both_means(calculus, calculus.value(a2), stream, calculus.value(b2), branch, out);
    const auto [left, right, width] = as_independent(
        values_of(calculus, scaled(x, a2)), values_of(calculus, scaled(f, b2)),
        scaled(covariance, calculus.value(a * b)), static_cast<double>(stream.width));
    out.spread = through_sum(stream.spread, branch.spread, left, right, width, counts);
    if constexpr (std::is_same_v<X, PerPosition>) {
      if (stream.x.positions->all())
        out.spread.batch_noise =
            batch_noise_of_sum(scaled(stream.x, a2), stream.spread.batch_noise,
                               scaled(branch.x, b2), branch.spread.batch_noise, counts);
    }
    if (out.same_words) sum_words(stream, left, branch, right, out);
    // A branch that starts at 0 leaves constant features constant.
    if (right.second > 0)
      out.flat.reset();
    else
      out.same_words = stream.same_words;
    const double total = values_of(calculus, out.x).second;
    const double p = total > 0 ? left.second / total : 0, q = total > 0 ? right.second / total : 0;
    const auto mixed = [&](const RelativeError& s, const RelativeError& t) {
      RelativeError made{p * s.second + q * t.second, p * s.cross + q * t.cross};
      made.know_apart(p * s.apart() + q * t.apart());
      return made;
    };
    const Alike<double> sums = values_of(calculus, out.x);
    out.dropped.reset();
    if ((stream.dropped || branch.dropped) && total > 0) {
      const auto share = [](double part, double all) { return all != 0 ? part / all : 0; };
      out.dropped = sum_of_paths(
          stream.dropped ? &*stream.dropped : nullptr, branch.dropped ? &*branch.dropped : nullptr,
          q, share(right.cross, sums.cross), share(right.between, sums.between));
    }
    MixedSum made =
        mixed_sum(stream.mixture, branch.mixture, p, sums.cross != 0 ? left.cross / sums.cross : 0);
    out.mixture = made.sum;
    if (kinds) *kinds = std::move(made);
    out.kurtosis = 3 + p * p * (stream.kurtosis - 3) + q * q * (branch.kurtosis - 3);
    if (left.mean != 0 || right.mean != 0 || kappa != 0)
      out.kurtosis = kurtosis_of_sum(calculus, stream, branch, calculus.value(a), calculus.value(b),
                                     kappa, sums, counts);
    out.error = mixed(stream.error, branch.error);
    out.truncation = mixed(stream.truncation, branch.truncation);
    out.truncation.mean =
        std::sqrt(p) * stream.truncation.mean + std::sqrt(q) * branch.truncation.mean;
    out.size_excess = p * p * stream.size_excess + q * q * branch.size_excess;
    out.sphere_excess = p * p * stream.sphere_excess + q * q * branch.sphere_excess;
    out.map_overlap = out.weight_cumulant = 0;
    out.head_overlap = sum_of_heads(stream.head_overlap, left, branch.head_overlap, right);
    out.mean_pairs =
        calculus.value(a2) * stream.mean_pairs + calculus.value(b2) * branch.mean_pairs;
    out.mask_overlap =
        mask_of_sum(calculus, stream, branch, calculus.value(a2), calculus.value(b2));
  }
  return out;
}

/// 2 a a' of E x_t x_u that a gradient has of both ways of a sum, a x and a' x along the input x.
template <class X>
double both_ways(const Gradient<X>& skip, const Gradient<X>& branch) {
  const bool by_tokens = skip.along_tokens && branch.along_tokens;
  return skip.own.word == 0 && !by_tokens ? 2 * skip.aligned * branch.aligned : 0;
}

/// What that makes of dk/dr.
template <class X>
OverlapSlopes slopes_of_both_ways(bool meet, const Gradient<X>& skip, const Gradient<X>& branch,
                                  const OverlapDeviation& input) {
  if constexpr (std::is_same_v<typename X::Number, double>) {
    if (meet && !branch.along_mean)
      return with_part_along({}, both_ways(skip, branch), input, skip.along_mean);
  }
  return {};
}

/// The gradient that comes through a branch is independent of that on the skip, but for what both
/// have along the `input`, 2 a a' E x_t x_u, or where no weights lie in the branch for `together`,
/// E of their product. `start`: the covariance of what both are made of.
template <class C, class X>
Gradient<X> sum_of_ways(const BackwardPass<C, X>& pass, Gradient<X> skip, const Gradient<X>& branch,
                        const LogCovariance& start, std::int64_t tokens,
                        const std::optional<X>& input = std::nullopt, const X* together = nullptr) {
  using N = typename C::Number;
  if constexpr (C::next_orders) {
    const C& calculus = pass.calculus();
    const Counts counts = pass.counts(tokens);
    const Alike<double> both = together ? values_of(calculus, *together) : Alike<double>{},
                        of_skip = values_of(calculus, skip.x);
    const auto [left, right, width] = as_independent(of_skip, values_of(calculus, branch.x), both,
                                                     static_cast<double>(pass.stream_width()));
    if (together && of_skip.second > 0)
      skip.slopes = through_map(skip.slopes, 1 + 2 * both.second / of_skip.second, 1);
    const double total = left.second + right.second, p = total > 0 ? left.second / total : 1;
    skip.spread = through_sum(skip.spread, branch.spread, left, right, width, counts);
    skip.log_covariance = covariance_of_sum(start, skip.log_covariance, branch.log_covariance, left,
                                            right, width, counts);
    const auto mixed = [&](const RelativeError& s, const RelativeError& t) {
      return RelativeError{p * s.second + (1 - p) * t.second, p * s.cross + (1 - p) * t.cross};
    };
    skip.directions = {p * skip.directions.mean + (1 - p) * branch.directions.mean,
                       p * skip.directions.radial + (1 - p) * branch.directions.radial,
                       p * skip.directions.samples + (1 - p) * branch.directions.samples};
    skip.slope_scatter = p * skip.slope_scatter + (1 - p) * branch.slope_scatter;
    skip.by_condition = p * skip.by_condition + (1 - p) * branch.by_condition;
    skip.size_power = p * skip.size_power + (1 - p) * branch.size_power;
    skip.size_exponent = std::max(skip.size_exponent, branch.size_exponent);
    skip.equal_words = p * skip.equal_words + (1 - p) * branch.equal_words;
    skip.kinds = sum_of_kinds(skip.kinds, branch.kinds, p);
    skip.error = mixed(skip.error, branch.error);
    skip.truncation = mixed(skip.truncation, branch.truncation);
  }
  skip.x = sum(skip.x, branch.x);
  if (together) skip.x = sum(skip.x, scaled(*together, N(2)));
  skip.with_sums = sum_of_sums(skip.with_sums, branch.with_sums);
  if constexpr (C::next_orders) {
    const double both = both_ways(skip, branch);
    if (input && !together && both != 0)
      skip.x =
          sum(skip.x, scaled(products_along(skip.along_mean, branch.along_mean, *input), both));
    skip.along_mean = sum_along(skip.along_mean, skip.aligned, branch.along_mean, branch.aligned);
  }
  skip.slopes = skip.slopes + branch.slopes;
  skip.uneven += branch.uneven;
  skip.beyond_pairs += branch.beyond_pairs;
  const double of_skip_size = std::exchange(skip.follows_size, 0.0);
  skip.of_values.reset();
  if constexpr (C::next_orders) {
    const double all = values_of(pass.calculus(), skip.x).second;
    const double share = all > 0 ? values_of(pass.calculus(), branch.x).second / all : 0;
    // Of a sum of two powers of the size the exponent is the mean of both, by what they are.
    if (share >= 0 && share <= 1)
      skip.follows_size = (1 - share) * of_skip_size + share * branch.follows_size;
    // A branch that begins with a norm right behind an activation has divided by its values.
    if (branch.of_values && share > 0 && share <= 1) {
      skip.of_values = branch.of_values;
      tie_values(share, *skip.of_values);
      skip.follows_size = share * branch.follows_size;
    }
  }
  if constexpr (C::next_orders) sum_along_tokens(skip, branch);
  skip.aligned = skip.aligned + branch.aligned;
  if (skip.along_tokens) skip.aligned = average(*skip.along_tokens).second;
  skip.slope_correlation.reset();
  return skip;
}

}  // namespace scalecalc::moments
