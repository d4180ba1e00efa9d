#pragma once

#include <string>

namespace scalecalc::moments {

/// tanh(alpha x) as an expression in x.
std::string tanh_norm(double alpha);

/// x (1 - tanh(alpha x)^2), its derivative by alpha, and that times tanh(alpha x).
struct AlphaFunctions {
  std::string slope, slope_value;
};
AlphaFunctions alpha_functions(double alpha);

}  // namespace scalecalc::moments
