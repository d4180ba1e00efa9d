#pragma once

#include "moments/activation.hpp"
#include "moments/constant_samples.hpp"
#include "moments/norm_tokens.hpp"
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
PerPosition centred(const PerPosition& x, double tokens, double batch);

/// Statistics over samples are of Gaussian features: E 1/s2 is (n - 2)/(n - 3) of 1/E s2 where all
/// samples are alike, so n > 3.
template <class C, class X>
Signal<X> sample_norm(C& calculus, const Norm& layer, const Signal<X>& in, const Counts& counts,
                      NormRecord<X>& record) {
  using N = typename C::Number;
  record.over_samples = true;
  record.over_batch = layer.kind == NormKind::batchnorm;
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
  out.normalised = false;
  out.flat.reset();
  out.x = scaled(inside, scale);
  if (!record.over_batch) out.x = without_between(out.x);
  N back = scale;
  if constexpr (C::next_orders) {
    const Counts over{counts.tokens, record.over_batch ? counts.batch : 1};
    const SampleLevels from = sample_levels(values_of(calculus, inside), over);
    record.orders = sample_orders(from, over, in.spread.scatter);
    if (from.within > 0)
      record.by_chance = 2 * in.spread.scatter * calculus.value(in.overlap.variance()) /
                         (from.within * from.within);
    const SampleLevels& order = record.orders.forward;
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
      out.x = scaled(out.x, record.alive);
      // 1/s2 of those that are not.
      back = back * record.alive;
    }
  }
  record.factors = each(out.x, [&](const N&) { return back; });
  out.overlap = {in.overlap.coherent * scale, in.overlap.noise * scale * scale};
  out.spread = {2 / static_cast<double>(in.width), 0, 0, 0, 0, 1, in.spread.apart, 0};
  out.spread.skew = in.spread.skew;
  out.spread.uneven = in.spread.uneven;
  out.error.second = out.truncation.second = 0;
  calculus.assume("norm over samples", "features are Gaussian over the samples");
  if constexpr (C::next_orders) {
    calculus.omit(1 / samples, 1 / samples);
  }
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
  return out;
}

template <class N>
Alike<N> without_between(Alike<N> x) {
  x.between = N(0);
  return x;
}
inline PerPosition without_between(PerPosition x) {
  x.between.setZero();
  return x;
}

/// E[y_t g_t y_u g_u] of an output y. What y has of the sum that the gradient is tied to is known,
/// the rest of y is not seen by it.
template <class X>
X along_output(const X& y, const Gradient<X>& g) {
  if (!g.tie) return product(y, g.x);
  const auto share = average(y).second / average(g.tie->input).second;
  const auto square = share * share;
  const X rest = sum(y, scaled(g.tie->input, -square));
  return without_mean(sum(scaled(g.tie->product, square), product(rest, g.x)));
}

/// (I - y y^T/n)/s of a centred gradient, and what it takes more where that is tied to y.
template <class C, class X>
X across_samples(const C& calculus, const NormRecord<X>& record, const Gradient<X>& gradient,
                 const X& inside, const Counts& over) {
  const double scale = average(record.factors).second, samples = over.samples();
  SampleLevels to = record.orders.back(sample_levels(values_of(calculus, inside), over));
  if (gradient.tie) {
    const X more =
        sum(along_output(record.output, gradient), scaled(product(record.output, gradient.x), -1));
    const double taken = pair_sum(more, over.tokens, over.batch) / (samples * samples);
    const SampleLevels along = sample_levels(values_of(calculus, record.output), over);
    to.within -= along.within * taken;
    to.between -= along.between * taken;
  }
  return at_levels(scaled(inside, scale), record.orders.to_within.within,
                   {scale * to.within, scale * to.between}, over);
}

/// So few dead features no pass sees.
inline constexpr double few_enough = 1e-4;

/// What of the gradient is along the output, a norm takes out exactly.
template <class C, class X>
Gradient<X> norm_backward(C& calculus, const NormRecord<X>& record, const Gradient<X>& gradient,
                          const typename C::Number& tokens, const typename C::Number& batch) {
  using N = typename C::Number;
  const N along = gradient.aligned * gradient.aligned;
  Gradient<X> out = gradient;
  out.aligned = N(0);
  if constexpr (C::next_orders) {
    const double scale = values_of(calculus, record.factors).second;
    out.uneven = gradient.uneven * scale * scale;
  }
  const X across = sum(gradient.x, scaled(without_mean(record.output), N(-along)));
  if (!record.over_samples) {
    out.x = projected(calculus, record, gradient.levels, product(across, record.factors));
    out.levels.radial = 0;
    if (record.projection.layernorm) out.levels.mean = 0;
    return out;
  }
  const N sequences = record.over_batch ? batch : N(1);
  X inside = centred(across, tokens, sequences);
  if (!record.over_batch) inside = without_between(inside);
  if constexpr (C::next_orders) {
    out.x = across_samples(calculus, record, gradient, inside,
                           {calculus.value(tokens), calculus.value(sequences)});
    if (record.alive < 1 - few_enough) {
      // Dead features hand nothing on; E 1/s2 of those with one sample or two does not exist.
      out.x = scaled(out.x, record.alive);
      out.alive = record.alive;
      out.few = record.few;
      out.truncation.second += no_mean;
      out.truncation.cross += no_mean;
    } else {
      out.truncation.second += 2 * record.few;
    }
    out.truncation.second += record.by_chance;
    const Alike<double> x = values_of(calculus, out.x);
    if (x.second > 0) out.truncation.cross += record.by_chance * std::fabs(x.cross) / x.second;
    calculus.assume("norm", "two samples overlap by as much in every draw", "2 V/D^2",
                    record.by_chance, 0.1);
  } else {
    out.x = product(inside, record.factors);
  }
  return out;
}

}  // namespace scalecalc::moments
