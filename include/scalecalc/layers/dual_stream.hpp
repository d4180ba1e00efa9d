#pragma once

#include <string>
#include <vector>

#include "scalecalc/layers/norm.hpp"
#include "scalecalc/layers/residual.hpp"

namespace scalecalc {

/// ResiDual: x' = Norm(x + F(x)), z' = z + F(x) through all sublayers from z = x; the result is
/// x + Norm(z).
struct DualStream {
  std::string path;
  std::vector<Residual> sublayers;
  Norm norm;  ///< of z
};

}  // namespace scalecalc
