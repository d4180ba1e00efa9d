#pragma once

#include <cmath>

#include "moments/calculus.hpp"
#include "moments/spread.hpp"
#include "scalecalc/error.hpp"

/// Norms over one token's features (layer, rms, scale) and over samples (batch, instance); theory,
/// section 2, and notes 1.1 and 5. Gains are 1 and shifts 0.
namespace scalecalc::moments {

inline bool is_token_norm(NormKind kind) {
  return kind == NormKind::layernorm || kind == NormKind::rmsnorm || kind == NormKind::scalenorm;
}

/// Means over the samples of each position, and over all: [m + sum of crosses]/n.
struct SampleMeans {
  Eigen::ArrayXd rows;
  double all = 0;
};
SampleMeans sample_means(const PerPosition& x, const Counts& over);

/// C R C with C = I - 11^T/n.
template <class N>
Alike<N> centred(const Alike<N>& x, const N& tokens, const N& batch) {
  const N mean =
      (x.second + (tokens - 1) * x.cross + (batch - 1) * tokens * x.between) / (tokens * batch);
  return {N(0), x.second - mean, x.cross - mean, x.between - mean};
}
PerPosition centred(const PerPosition& x, double tokens, double batch);

/// The corrections of order 1/d that come of a token's s2 straying. v: relative variance of a
/// token's s2, `both` its covariance between two tokens, w: the share of s2 in s2 + eps. Notes 1.1
/// split into what the projection takes and what E[1/s2] > 1/E[s2] gives back: v of g and (3v +
/// both)/4 of k; a LayerNorm's own mean takes another 1/d from s2. Gaussian features have v = 2/d
/// and both = c^2 v.
struct Fluctuation {
  double v = 0, both = 0, tie = 0, w = 1;
  double mean = 0;  ///< what a layernorm's own mean takes of s2

  double given_back(double order) const { return 1 + w * (order + mean); }
  double second() const { return given_back(v); }
  double cross() const { return given_back((3 * v + both) / 4); }
  /// Forward E[r/(s_t s_u)]: `tie` is the covariance of r and s2. Gaussian: 1 - (1 - c^2)/(2d).
  double forward() const { return 1 - w * w * (tie - (3 * v + both) / 4); }
};

Fluctuation fluctuation_of(const Spread& spread, double width, double share, bool layernorm,
                           const Counts& counts);

/// What the projection takes of g and of k at a cosine c: LN 2/d and (3 - c^2)/d, RMS 1/d and (2 -
/// c^2)/d of a gradient whose levels are 1.
struct Projection {
  double d = 1, w = 1;
  bool layernorm = false;
  double second(const Levels& levels) const {
    return 1 - w * (levels.radial + (layernorm ? levels.mean : 0)) / d;
  }
  double cross(const Levels& levels, double c) const {
    return 1 - w * (levels.radial * (2 - c * c) + (layernorm ? levels.mean : 0)) / d;
  }
};

/// Both for Gaussian features whose gradient knows nothing of them: the heads of q and k.
struct NormOrders {
  double d = 1, v = 0, w = 1;
  bool layernorm = false;
  double second() const { return of(1).second() * Projection{d, w, layernorm}.second({}); }
  template <class N>
  N cross(const N& c) const {
    const double lost = w * (layernorm ? 3 : 2) / d, mean = layernorm ? w * v / 2 : 0;
    return (1 - lost + w / d * c * c) * (1 + w * v * (3 + c * c) / 4 + mean);
  }
  template <class N>
  N forward(const N& c) const {
    return 1 - (1 - c * c) * (w * w * v / 4);
  }

 private:
  Fluctuation of(double c) const { return {v, c * c * v, v, w, layernorm ? v / 2 : 0}; }
};

template <class X>
struct NormRecord {
  X factors;  ///< of the gradient, entry by entry, before the projection
  Projection projection;
  bool over_samples = false, over_batch = false;
  X output;
};

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
  if constexpr (C::next_orders) {
    const double size = calculus.value(typical), d = static_cast<double>(in.width);
    const double share = size > 0 ? size / (size + layer.eps) : 1;
    orders = fluctuation_of(in.spread, d, share, centre, counts);
    record.projection = {d, share, centre};
  }
  Signal<X> out = in;
  out.normalised = true;
  const auto root = [&](const T& u, const T& v) { return sqrt((s2(u) + eps) * (s2(v) + eps)); };
  const auto inside = [&](const T& u, const T& v, const N& cross) {
    return centre ? N(cross - u.mean * v.mean) : cross;
  };
  out.x = map(
      in.x,
      [&](const T& u) {
        return T{centre ? N(0) : N(u.mean / sqrt(s2(u) + eps)), s2(u) / (s2(u) + eps)};
      },
      [&](const T& u, const T& v, const N& cross) {
        const N c = inside(u, v, cross) / root(u, v);
        if constexpr (C::next_orders) return N(c * orders.forward());
        return c;
      });
  record.factors = map(
      in.x,
      [&](const T& u) {
        const N factor = 1 / (s2(u) + eps);
        if constexpr (C::next_orders) return T{N(0), factor * orders.second()};
        return T{N(0), factor};
      },
      [&](const T& u, const T& v, const N&) {
        const N factor = 1 / root(u, v);
        if constexpr (C::next_orders) return N(factor * orders.cross());
        return factor;
      });
  const N scale = 1 / (typical + eps);
  out.overlap = {in.overlap.coherent * scale, in.overlap.noise * scale * scale};
  if constexpr (C::next_orders) {
    const double rest = 1 - orders.w;
    out.spread = Spread{rest * rest * in.spread.one,
                        rest * rest * in.spread.all,
                        rest * in.spread.shift,
                        rest * in.spread.pull,
                        rest * rest * in.spread.slack,
                        centre ? 0 : in.spread.level,
                        apart_after_norm(in.spread, values_of(calculus, in.x))};
    for (Doubt* doubt : {&out.error, &out.truncation}) {
      doubt->cross += doubt->second;
      doubt->second *= rest;
    }
    calculus.omit(0, 2 / static_cast<double>(in.width * in.width));
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

/// Statistics over samples are of Gaussian features: E 1/s2 is (n - 2)/(n - 3) of 1/E s2, so n > 3.
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
  out.x = scaled(inside, scale);
  if (!record.over_batch) out.x = without_between(out.x);
  const N correction = N(calculus.real(samples - 2)) / calculus.real(samples - 3);
  record.factors = each(out.x, [&](const N&) { return N(scale * correction); });
  out.overlap = {in.overlap.coherent * scale, in.overlap.noise * scale * scale};
  out.spread = {2 / static_cast<double>(in.width), 0, 0, 0, 0, 1, in.spread.apart};
  out.error.second = out.truncation.second = 0;
  calculus.assume("norm over samples", "features are Gaussian over the samples");
  if constexpr (C::next_orders) calculus.omit(1 / samples, 1 / samples);
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

template <class C, class X>
X projected(const C& calculus, const NormRecord<X>& record, const Levels& levels, const X& g) {
  using N = typename C::Number;
  using T = Token<N>;
  if constexpr (!C::next_orders) return g;
  const Projection& take = record.projection;
  return zip(
      record.output, g,
      [&](const T&, const T& u) {
        return T{N(0), u.second * calculus.real(take.second(levels))};
      },
      [&](const T& t, const T& u, const N& r, const N& k) {
        const double m = std::sqrt(calculus.value(t.second) * calculus.value(u.second));
        const double c = m > 0 ? calculus.value(r) / m : 0;
        return N(k * calculus.real(take.cross(levels, c)));
      });
}

/// What of the gradient is along the output, a norm takes out exactly.
template <class C, class X>
Gradient<X> norm_backward(C& calculus, const NormRecord<X>& record, const Gradient<X>& gradient,
                          const typename C::Number& tokens, const typename C::Number& batch) {
  using N = typename C::Number;
  const N along = gradient.aligned * gradient.aligned;
  Gradient<X> out = gradient;
  out.aligned = N(0);
  const X across = sum(gradient.x, scaled(without_mean(record.output), N(-along)));
  if (!record.over_samples) {
    out.x = projected(calculus, record, gradient.levels, product(across, record.factors));
    out.levels.radial = 0;
    if (record.projection.layernorm) out.levels.mean = 0;
    return out;
  }
  X inside = centred(across, tokens, record.over_batch ? batch : N(1));
  if (!record.over_batch) inside = without_between(inside);
  out.x = product(inside, record.factors);
  return out;
}

}  // namespace scalecalc::moments
