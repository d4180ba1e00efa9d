#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "moments/linear_map.hpp"
#include "moments/parameter_gradients.hpp"
#include "scalecalc/error.hpp"

/// The vector of each sample that modulations read (docs/theory/layers.md#condition).
namespace scalecalc::moments {

template <class C, class X>
struct Kept<ConditionLayer, C, X> {
  std::size_t input = no_site;
  Places at;
};

template <class C, class X>
Signal<X> condition_input(C& calculus, const Network& network, const X& like,
                          const Counts& counts) {
  using N = typename C::Number;
  using std::sqrt;
  const N second = calculus.real(network.condition_second),
          between = calculus.real(network.condition_cross);
  Signal<X> made = input_signal(calculus, uniform(like, Alike<N>{N(0), second, second, between}),
                                network.condition_features, 1, counts);
  // Two samples are all that there is of pairs.
  made.overlap.coherent =
      (second - between) / sqrt(N(calculus.size(network.condition_features, "features")));
  return made;
}

/// Of the table of labels, of which two samples have the same by chance.
template <class C, class X>
void add_labels(const C& calculus, const ConditionLayer& layer, const Counts& counts,
                Signal<X>& c) {
  using N = typename C::Number;
  const N second = calculus.real(layer.class_std * layer.class_std),
          same = second / calculus.real(static_cast<double>(layer.classes));
  const Alike<double> before = values_of(calculus, c.x);
  c.x = sum(c.x, uniform(c.x, Alike<N>{N(0), second, second, same}));
  if constexpr (C::next_orders) {
    const double width = static_cast<double>(layer.width), of_labels = second;
    const Alike<double> labels{0, second, second, same};
    c.spread = through_sum(c.spread, gaussian_spread(labels, width, counts), before, labels, width,
                           counts);
    const double all = before.second + of_labels, share = all > 0 ? before.second / all : 0;
    for (RelativeError* bound : {&c.error, &c.truncation}) scale_error(*bound, share);
    // x_a.x_b/n of tables, and of them with what they are added to, and whether labels are equal.
    const double chance = 1 / static_cast<double>(layer.classes);
    c.overlap.noise += (of_labels * of_labels + 2 * of_labels * before.second) / width +
                       of_labels * of_labels * chance * (1 - chance);
  }
}

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const ConditionLayer& layer, Signal<X> x) {
  static const char* const suffix = ".input";
  C& calculus = pass.calculus();
  calculus.enter(layer.path);
  const Counts counts{1, static_cast<double>(pass.network().batch)};
  Signal<X> c = condition_input(calculus, pass.network(), x.x, counts);
  Kept<ConditionLayer, C, X> kept;
  kept.input = pass.site(layer.path, "input", c, suffix);
  c = pass.run(layer.layers, std::move(c));
  calculus.enter(layer.path);
  settle(c);
  if (layer.classes > 0) {
    add_labels(calculus, layer, counts, c);
    kept.at.parameter = pass.parameter(layer.path, ".class", layer.classes, layer.width,
                                       layer.class_std * layer.class_std);
  }
  kept.at.site = pass.site(layer.path, "condition", c);
  kept.at.tokens = 1;
  pass.set_condition(pass.run(layer.activated, std::move(c)));
  pass.template keep<ConditionLayer>(std::move(kept));
  return x;
}

/// Of one row in K: its samples, and their pairs, of which what follows the overlap of equal labels
/// is more.
template <class C, class X>
void fill_labels(BackwardPass<C, X>& pass, const ConditionLayer& layer, std::size_t parameter,
                 const Gradient<X>& g) {
  using N = typename C::Number;
  const C& calculus = pass.calculus();
  const N classes = calculus.real(static_cast<double>(layer.classes));
  Alike<N> of = average(g.x);
  if constexpr (C::next_orders) {
    const double along = g.aligned, rise = std::max(along * along, g.slopes.between.own);
    of.between += rise * layer.class_std * layer.class_std * (1 - 1 / classes);
  }
  const Alike<N> same{N(0), N(1), N(1), N(1) / classes};
  fill(pass, parameter, N(token_sum(same, of, N(1), pass.batch()) / classes), g, {});
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const ConditionLayer& layer, Gradient<X> g) {
  const auto& kept = pass.template take<ConditionLayer>();
  std::optional<Gradient<X>>& condition = pass.condition();
  if (!condition)
    throw Error(ErrorKind::input, "nothing reads the condition", layer.path,
                "modulate a norm by it, or leave it out");
  Gradient<X> c = pass.run(layer.activated, std::move(*condition));
  condition.reset();
  pass.note(kept.at.site, c);
  if (layer.classes > 0) fill_labels(pass, layer, kept.at.parameter, c);
  pass.note(kept.input, pass.run(layer.layers, std::move(c)));
  return g;
}

}  // namespace scalecalc::moments
