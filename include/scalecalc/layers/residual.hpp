#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scalecalc/layers/norm.hpp"
#include "scalecalc/symbolic.hpp"

namespace scalecalc {

struct Layer;  // scalecalc/layers.hpp

/// x' = [norm]( skip * x + branch * body(x) ).
struct Residual {
  /// Its own parameter, path + ".scale" of a trainable branch.
  enum Index : std::size_t { scale_index };

  std::string path;
  double skip = 1.0, branch = 1.0;
  std::vector<Layer> body;
  std::optional<Norm> norm;
  bool trainable_branch = false;  ///< `branch` is a parameter (rezero, skipinit)
  /// Of a trainable branch: features that each have a factor of their own (LayerScale, Touvron et
  /// al. 2021); 1: one for all.
  std::int64_t scale_features = 1;
  std::vector<Layer> shortcut;  ///< applied to x on the skip; empty: identity
  std::optional<Expr> skip_formula, branch_formula;
};

}  // namespace scalecalc
