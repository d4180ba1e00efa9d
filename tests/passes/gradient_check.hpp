#pragma once

#include <doctest/doctest.h>

#include <algorithm>

#include "passes/support.hpp"
#include "scalecalc/passes.hpp"

/// The gradients of whole networks against differences of their loss.
namespace scalecalc::passes {

struct Gradients {
  double loss;
  std::vector<Vector> of;
};

template <class Real>
Gradients gradients(Passes<Real>& passes) {
  Gradients result{0.0, std::vector<Vector>(passes.parameters().size())};
  result.loss = passes.backward([&](std::size_t index, MatrixView<Real> g) {
    result.of[index] = Vector(g.data, g.data + g.size());
  });
  return result;
}

inline double rms(const Vector& a) {
  return norm(a) / std::sqrt(static_cast<double>(a.size()));
}

/// d loss / d entry by central differences of fourth order.
inline double difference(Passes<double>& passes, std::size_t index, std::size_t entry, double h) {
  Vector one(static_cast<std::size_t>(passes.parameter(index).size()), 0.0);
  one[entry] = 1.0;
  double sum = 0.0, at = 0.0;
  const auto add = [&](double to, double weight) {
    passes.add(index, one.data(), to - at);
    at = to;
    sum += weight * passes.loss();
  };
  add(h, 8.0);
  add(2.0 * h, -1.0);
  add(-h, -8.0);
  add(-2.0 * h, 1.0);
  passes.add(index, one.data(), -at);
  return sum / (12.0 * h);
}

/// Three entries of every parameter. The step balances truncation, h^4/30 f^(5), and rounding,
/// eps |loss|/h; gradients that vanish by symmetry (of a key's bias) are held to the typical size.
inline void check_gradients(const Network& network, std::uint64_t seed = 1) {
  Passes<double> passes(network, {seed, 1, "cpu"});
  const Gradients analytic = gradients(passes);
  CHECK(analytic.loss == passes.loss());
  double typical = 0.0;
  for (const Vector& g : analytic.of) typical = std::max(typical, rms(g));
  for (std::size_t index = 0; index < analytic.of.size(); ++index) {
    const Vector& g = analytic.of[index];
    REQUIRE(static_cast<std::int64_t>(g.size()) == passes.parameter(index).size());
    std::vector<std::int32_t> entries(3);
    tensor::fill_indices({seed, index}, static_cast<std::int64_t>(g.size()), 3, entries.data());
    for (const std::int32_t entry : entries) {
      const auto at = static_cast<std::size_t>(entry);
      const double numeric = difference(passes, index, at, 5e-4);
      CAPTURE(passes.parameters()[index].path);
      CAPTURE(numeric);
      const double size = std::max({std::fabs(g[at]), rms(g), 1e-3 * typical});
      // Fifth derivatives up to 1e5 times h^4 = 6e-14, and eps/h of the loss.
      CHECK(std::fabs(numeric - g[at]) < 1e-7 * size);
    }
  }
}

}  // namespace scalecalc::passes
