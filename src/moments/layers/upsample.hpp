#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "moments/backward_pass.hpp"
#include "moments/forward_pass.hpp"
#include "moments/image_profile.hpp"
#include "moments/overlap_lags.hpp"
#include "moments/overlap_slope.hpp"

/// Every position f x f times (docs/theory/layers.md#upsample): of two positions kappa = (f^2 -
/// 1)/(P f^2 - 1) are copies of one.
namespace scalecalc::moments {

inline double copies_of(const Upsample& layer) {
  return static_cast<double>(layer.factor * layer.factor);
}
/// Chance that two positions of an image are copies of one.
inline double chance_of_copies(const Upsample& layer) {
  const double copies = copies_of(layer),
               all = copies * static_cast<double>(layer.height * layer.width);
  return all > 1 ? (copies - 1) / (all - 1) : 0;
}

/// Calls found(copy, position) for every copy.
template <class Found>
void for_copies(const Upsample& layer, const Found& found) {
  for (std::int64_t row = 0; row < layer.out_height(); ++row)
    for (std::int64_t column = 0; column < layer.out_width(); ++column)
      found(row * layer.out_width() + column,
            row / layer.factor * layer.width + column / layer.factor);
}
inline Eigen::ArrayXd at_copies(const Upsample& layer, const Eigen::ArrayXd& positions) {
  Eigen::ArrayXd copies(layer.out_height() * layer.out_width());
  for_copies(layer, [&](std::int64_t copy, std::int64_t at) { copies[copy] = positions[at]; });
  return copies;
}
inline Eigen::ArrayXd of_copies(const Upsample& layer, const Eigen::ArrayXd& copies) {
  Eigen::ArrayXd positions = Eigen::ArrayXd::Zero(layer.height * layer.width);
  for_copies(layer, [&](std::int64_t copy, std::int64_t at) { positions[at] += copies[copy]; });
  return positions;
}

template <class C, class X>
Signal<X> upsample_forward(C& calculus, const Upsample& layer, const Signal<X>& in) {
  using N = typename C::Number;
  const N same = calculus.real(chance_of_copies(layer));
  const auto x = average(in.x);
  Signal<X> out = in;
  out.tokens = layer.out_height() * layer.out_width();
  if (in.profile)
    out.profile = make_profile(at_copies(layer, in.profile->at), at_copies(layer, in.profile->row));
  out.same_words = out.sinusoids = false;
  out.flat.reset();
  out.none = 0;
  out.law.reset();
  out.summed.reset();
  out.with_inputs.reset();
  out.x =
      uniform(in.x, Alike<N>{x.mean, x.second, same * x.second + (1 - same) * x.cross, x.between});
  if constexpr (C::next_orders) {
    // Of the overlaps of all pairs those of copies are beside the others.
    const double kappa = chance_of_copies(layer), apart = calculus.value(N(x.second - x.cross));
    const double of_copies = kappa * (1 - kappa) * apart * apart;
    out.overlap.noise = in.overlap.noise * (1 - kappa);
    out.overlap.coherent =
        std::sqrt(in.overlap.coherent * in.overlap.coherent * (1 - kappa) + of_copies);
    out.overlap_lags = repeated_lags(in.overlap_lags ? *in.overlap_lags : OverlapLags{},
                                     static_cast<std::size_t>(layer.factor));
    out.mask_overlap = std::min(in.mask_overlap, out.overlap.variance());
  }
  return out;
}

template <class C, class X>
struct Kept<Upsample, C, X> {
  Places at;
  X input;
  double apart = 0;  ///< of the input, 1 - E x_t x_u/E x^2: what copies and other pairs differ by
};

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Upsample& layer, Signal<X> x) {
  pass.calculus().enter(layer.path);
  settle(x);
  Signal<X> y = upsample_forward(pass.calculus(), layer, x);
  const std::size_t at = pass.site(layer.path, "upsample", y);
  double apart = 0;
  if constexpr (C::next_orders) {
    const Alike<double> values = values_of(pass.calculus(), x.x);
    if (values.second > 0) apart = std::clamp(1 - values.cross / values.second, 0.0, 1.0);
  }
  pass.template keep<Upsample>({{at, 0, x.tokens}, std::move(x.x), apart});
  return y;
}

/// Gradients of the copies add up: f^2 [g + (f^2 - 1) k] of one position, f^4 k of two.
template <class C, class X>
X upsample_backward(C& calculus, const Upsample& layer, const X& input, const X& gradient) {
  using N = typename C::Number;
  const N copies = calculus.real(copies_of(layer)), square = copies * copies;
  const auto g = average(gradient);
  return uniform(input,
                 Alike<N>{N(0), calculus.positive(N(copies * (g.second + (copies - 1) * g.cross))),
                          square * g.cross, square * g.between});
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Upsample& layer, Gradient<X> g) {
  using N = typename C::Number;
  C& calculus = pass.calculus();
  const auto& kept = pass.template take<Upsample>();
  pass.note(kept.at.site, g);
  const N copies = calculus.real(copies_of(layer));
  // Of a y every copy brings back a x.
  const N along = g.along_mean ? N(0) : N(g.aligned * copies);
  X random = g.along_mean ? g.x
                          : sum(g.x, scaled(without_mean(uniform(g.x, average(kept.input))),
                                            N(-(g.aligned * g.aligned))));
  if constexpr (C::next_orders) {
    // What layers above know of x is more alike at copies than at any two positions.
    const Alike<double> of = values_of(calculus, random);
    const double others = (copies_of(layer) - 1) * std::fabs(of.cross);
    const double left_out = of.second + others > 0 ? kept.apart * others / (of.second + others) : 0;
    g.truncation.second += left_out;
    g.truncation.cross += left_out;
  }
  g.x = sum(upsample_backward(calculus, layer, kept.input, random),
            scaled(without_mean(kept.input), N(along * along)));
  if (g.profile)
    g.profile = make_profile(of_copies(layer, g.profile->at), of_copies(layer, g.profile->row));
  forget_tokens(g);
  g.directions = {};
  g.aligned = along;
  return g;
}

}  // namespace scalecalc::moments
