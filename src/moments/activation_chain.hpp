#pragma once

#include <optional>
#include <string>

#include "moments/signal.hpp"

/// Activations in a row. The second one's input is a function of a Gaussian, so that its averages
/// are those of the composed function over that Gaussian (docs/theory/layers.md#chain).
namespace scalecalc::moments {

/// What an activation was given, where another follows it.
template <class X>
struct ActivationChain {
  std::string function;  ///< of `input`, what the activation made of it
  Signal<X> input;       ///< Gaussian features
};

/// An expression in x of outer(inner(x)); nothing where its analysis refuses it (too many kinks).
/// Names of the registry or expressions in x.
std::optional<std::string> composed(const std::string& outer, const std::string& inner);

/// The same of outer'(inner(x)), the slope at a kink as passes take it.
std::optional<std::string> composed_slope(const std::string& outer, const std::string& inner);

}  // namespace scalecalc::moments
