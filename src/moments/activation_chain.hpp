#pragma once

#include <optional>
#include <string>

#include "moments/activation_moments.hpp"
#include "moments/signal.hpp"
#include "moments/stream_activation.hpp"

/// Activations in a row. The second one's input is a function of the first one's, Gaussian or of a
/// known law, so that its averages are those of the composed function over that
/// (docs/theory/layers.md#chain).
namespace scalecalc::moments {

/// What an activation was given, where another follows it.
template <class X>
struct ActivationChain {
  std::string function;  ///< of `input`, what the activation made of it
  Signal<X> input;
};

/// An expression in x of outer(inner(x)); nothing where its analysis refuses it (too many kinks).
/// Names of the registry or expressions in x.
std::optional<std::string> composed(const std::string& outer, const std::string& inner);

/// The same of outer'(inner(x)), the slope at a kink as passes take it.
std::optional<std::string> composed_slope(const std::string& outer, const std::string& inner);
/// And of outer outer'(inner(x)).
std::optional<std::string> composed_product(const std::string& outer, const std::string& inner);

/// Of the last activation phi of a row, over the Gaussian features that the first was given.
template <class X>
struct ChainSlopes {
  X slopes;  ///< E phi'^2, E phi'(u)phi'(v)
  X own;     ///< the same of phi phi', beyond the products of phi^2 and phi'^2
};
/// `outer` behind `chain`; nothing where an expression has too many kinks.
template <class C, class X>
std::optional<ChainSlopes<X>> chain_slopes(C& calculus, const std::string& outer,
                                           const ActivationChain<X>& chain) {
  const auto value = composed(outer, chain.function), slope = composed_slope(outer, chain.function),
             product_of_both = composed_product(outer, chain.function);
  if (!value || !slope || !product_of_both) return std::nullopt;
  const auto pairs = [&](const std::string& of) {
    const X gaussian = expectations(calculus, calculus.function(of), chain.input.x);
    return without_mean(sum(gaussian, uniform(gaussian, excess_of_law(calculus, of, chain.input))));
  };
  const X slopes = pairs(*slope);
  return ChainSlopes<X>{slopes,
                        sum(pairs(*product_of_both), scaled(product(pairs(*value), slopes), -1))};
}

}  // namespace scalecalc::moments
