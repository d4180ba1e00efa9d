#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "scalecalc/symbolic.hpp"

namespace scalecalc {

enum class Distribution { normal, uniform, truncated_normal, orthogonal };
/// What is done to weights before they are used: divided by their largest singular value, or by
/// the root of each output's summed squares.
enum class WeightNorm { none, spectral, demodulated };

/// y = x W (+ b), W of shape (fan_in, fan_out), entries with standard deviation `std`.
struct Linear {
  /// The order of its parameters, path + ".weight" (unless it is tied) and, of a bias, path +
  /// ".bias".
  enum Index : std::size_t { weight_index, bias_index };

  std::string path;  ///< site
  std::string role;  ///< q k v o ffn_gate ffn_in ffn_out linear head
  std::int64_t fan_in = 0, fan_out = 0;
  double gain = 1.0;
  double std = 0.0;  ///< gain included
  Distribution distribution = Distribution::normal;
  bool bias = false;
  double bias_std = 0.0;
  bool in_branch = false;   ///< a weight matrix inside a residual branch
  double multiplier = 1.0;  ///< y = multiplier x W: 1/sqrt(fan_in) of the NTK parametrisation
  WeightNorm weight_norm = WeightNorm::none;
  /// Of a head: W is the transpose of the table of words that the network begins with, and no
  /// parameter of its own.
  bool tied = false;
  /// The variance of an entry, multiplier included, in N, alpha, lambda, width, ffn, ...
  std::optional<Expr> variance_formula;
};

}  // namespace scalecalc
