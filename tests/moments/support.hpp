#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "moments/linear_map.hpp"
#include "moments/numbers.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/network.hpp"

namespace scalecalc::testing {

using Pairs = moments::Alike<double>;

/// A calculus that stands somewhere.
inline moments::Numbers calculus() {
  static const std::string place = "here";
  moments::Numbers made{PropagateOptions{}};
  made.enter(place);
  return made;
}

inline moments::Signal<Pairs> signal(double second, double cross, std::int64_t width,
                                     std::int64_t tokens = 8, double between = 0) {
  moments::Numbers numbers = calculus();
  return moments::input_signal(numbers, Pairs{0, second, cross, between}, width, tokens,
                               {static_cast<double>(tokens), 1});
}

inline Linear linear(std::int64_t fan_in, std::int64_t fan_out, double variance) {
  Linear layer;
  layer.path = "linear";
  layer.fan_in = fan_in;
  layer.fan_out = fan_out;
  layer.std = std::sqrt(variance);
  return layer;
}

inline Trace trace_of_model(const std::string& toml) {
  return propagate(build_network(parse_model(toml, "model")));
}

inline const Site& site(const Trace& trace, const std::string& path) {
  for (const Site& found : trace.sites)
    if (found.path == path) return found;
  FAIL("no site " << path);
  return trace.sites.front();
}

inline const ParameterMoments& parameter(const Trace& trace, const std::string& path) {
  for (const ParameterMoments& found : trace.parameters)
    if (found.path == path) return found;
  FAIL("no parameter " << path);
  return trace.parameters.front();
}

/// Relative to the expected value, but for zero.
/// Relative errors: of what a few quadratures make, each of which states 1e-13; of what is
/// interpolated between them (docs/theory/softmax.md#tables), which the rules state as truncation.
constexpr double by_quadrature = 1e-12, by_interpolation = 1e-9;

inline doctest::Approx near(double value, double relative = by_quadrature) {
  return doctest::Approx(value).epsilon(relative).scale(0);
}

}  // namespace scalecalc::testing
