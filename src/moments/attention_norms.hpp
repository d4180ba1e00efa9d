#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "moments/few_features.hpp"
#include "moments/head_lengths.hpp"
#include "moments/projection.hpp"
#include "moments/state.hpp"
#include "scalecalc/network.hpp"

/// The norms of queries and keys inside attention.
namespace scalecalc::moments {

/// Both for Gaussian features whose gradient knows nothing of them: the heads of q and k, or all of
/// them. The square of a length, of relative variance v, is a Gamma variable s of shape 1/v, so
/// that E 1/s = 1/(1 - v) and (E s^(-1/2))^2 = (Gamma(1/v - 1/2)/Gamma(1/v))^2/v, of two lengths of
/// which one knows nothing of the other; those at a cosine c are between by c^2. Of s + eps, of
/// which s is the share w, v is w^2 v, and 1/d of what lies along the vector keeps (1 - w)^2. Of
/// few features both are integrals. `tokens`: a relative variance that multiplies both. See
/// docs/theory/attention.md#qk-norm.
struct HeadNorm {
  double d = 1, v = 0, tokens = 0, eps = 0;
  mutable std::optional<FewFeatures> few{};  ///< of the last share
  double share(double second) const { return second > 0 ? second / (second + eps) : 1; }
  /// E s/(s + eps).
  double kept(double second) const;
  /// Times 1/(E s + eps), that of the gradient: of one vector of share w, of two.
  double second(double w) const {
    if (is_few()) return of_few(w).second() * (1 + w * tokens);
    return of_one(w) * (1 - w * (2 - w) / d);
  }
  double cross(double c, double w) const {
    if (is_few()) return of_few(w).cross(c) * (1 + w * tokens);
    return (1 - w * 2 / d + w * w * c * c / d) * (of_two(w) + (of_one(w) - of_two(w)) * c * c);
  }
  /// E of the cosine of two normed vectors of d Gaussian features whose cosine is c, over the root
  /// of their shares: between c and that without eps.
  double cosine(double c, double w) const { return w * unit_cosine(c) + (1 - w) * c; }

 private:
  double unit_cosine(double c) const;
  bool is_few() const { return d <= HeadLengths::most_features; }
  const FewFeatures& of_few(double w) const {
    if (!few || few->share() != w) few.emplace(d, w);
    return *few;
  }
  double of_one(double w) const { return (1 + w * tokens) / (1 - w * w * v); }
  double of_two(double w) const {
    const double shape = 1 / (w * w * v);
    if (shape > many) return 1 + w * tokens;
    const double ratio = std::exp(std::lgamma(shape - 0.5) - std::lgamma(shape));
    return (1 + w * tokens) * shape * ratio * ratio;
  }
  static constexpr double many = 1e8;  ///< features; beyond them lgamma's digits are lost
};

/// The RMS norm of q or k: its rules over the features of a head, or of all of them.
template <class C, class X>
X normalised(const C& calculus, const X& x, const HeadNorm& norm) {
  using N = typename C::Number;
  using T = Token<N>;
  using std::sqrt;
  const N eps = calculus.real(norm.eps);
  return map(
      x,
      [&](const T& u) {
        if (norm.eps == 0) return T{N(0), N(1)};
        if constexpr (C::next_orders)
          return T{N(0), norm.kept(u.second)};
        else
          return T{N(0), u.second / (u.second + eps)};
      },
      [&](const T& t, const T& u, const N& cross) {
        if constexpr (C::next_orders) {
          if (t.second * u.second <= 0) return N(1);
          const double w = sqrt(norm.share(t.second) * norm.share(u.second));
          const double cosine = norm.cosine(cross / sqrt(t.second * u.second), w);
          return N(norm.eps == 0 ? cosine
                                 : cosine * sqrt(norm.kept(t.second) * norm.kept(u.second)));
        } else {
          if (norm.eps == 0) return N(cross / sqrt(t.second * u.second));
          return N(cross / sqrt((t.second + eps) * (u.second + eps)));
        }
      });
}
template <class C, class X>
X norm_factors(const C& calculus, const X& x, const HeadNorm& norm) {
  using N = typename C::Number;
  using T = Token<N>;
  using std::sqrt;
  const N eps = calculus.real(norm.eps);
  return map(
      x,
      [&](const T& u) {
        if constexpr (C::next_orders)
          return T{N(0),
                   u.second > 0 ? norm.second(norm.share(u.second)) / (u.second + norm.eps) : 0};
        else
          return T{N(0), 1 / (norm.eps == 0 ? u.second : N(u.second + eps))};
      },
      [&](const T& t, const T& u, const N& cross) {
        if constexpr (C::next_orders) {
          if (t.second * u.second <= 0) return N(0);
          const double w = sqrt(norm.share(t.second) * norm.share(u.second));
          const N scale = 1 / sqrt((t.second + norm.eps) * (u.second + norm.eps));
          return N(scale * norm.cross(cross / sqrt(t.second * u.second), w));
        } else {
          if (norm.eps == 0) return N(1 / sqrt(t.second * u.second));
          return N(1 / sqrt((t.second + eps) * (u.second + eps)));
        }
      });
}

/// Whether q and k have one length in each head: all that there is where it is one.
inline bool has_unit_heads(const Attention& layer) {
  return layer.qk_norm && (!layer.qk_norm_all || layer.heads == 1);
}

/// Lengths of q and k fluctuate by 2/n of the n features that a norm is over, and by 2/d where the
/// tokens' do. These are shared: a gradient at q is larger where the token is short, but x g, the
/// weights' gradient, is smaller by as much as |x|^2 makes up for it; at k the values' lengths do.
struct HeadNorms {
  HeadNorm query, key, query_weights, key_weights;
  HeadNorms(const Attention& layer, double width, bool tokens_normalised) {
    const double of_token = tokens_normalised ? 0 : 2 / width;
    const auto norm = [&](std::int64_t heads, double tokens) {
      const std::int64_t features = layer.qk_norm_all ? heads * layer.head_width : layer.head_width;
      const auto n = static_cast<double>(features);
      return HeadNorm{n, 2 / n, tokens, layer.qk_norm_eps};
    };
    query = norm(layer.heads, of_token);
    key = norm(layer.kv_heads, 0);
    query_weights = norm(layer.heads, -of_token);
    key_weights = norm(layer.kv_heads, -of_token);
  }
};

}  // namespace scalecalc::moments
