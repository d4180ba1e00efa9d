#pragma once

#include <vector>

#include "scalecalc/network.hpp"
#include "scalecalc/trace.hpp"
#include "steps/own_change.hpp"

/// Largest singular values of random matrices (docs/theory/first-step.md#operator-norm).
namespace scalecalc::steps {

/// M = Z' D Z + R of fan_out x fan_in: Z' and Z of independent standard normal numbers, D diagonal,
/// R of independent numbers of the variance `rest`.
struct MatrixLaw {
  double fan_in = 1, fan_out = 1;
  /// Squares of D, each there so many times.
  struct Part {
    double square = 0, count = 0;
  };
  std::vector<Part> parts;
  double rest = 0;
  /// Z' D Z goes through so many more numbers of directions: 1/n of each.
  std::vector<double> narrow = {};
};
/// E |M|^2, in its truncation how far draws lie from it.
Figure largest_square(const MatrixLaw& law);

/// Of the change by one step; a value that is not a number where there is no rule.
Figure norm_of_change(const Update& update, const MatrixUse& use, const OwnChange& own);
/// Of a parameter as it starts.
Figure norm_of_start(const ParameterInfo& parameter);

}  // namespace scalecalc::steps
