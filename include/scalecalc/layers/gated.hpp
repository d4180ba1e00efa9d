#pragma once

#include <string>

#include "scalecalc/layers/linear.hpp"

namespace scalecalc {

/// y = phi(gate(x)) * in(x).
struct Gated {
  std::string path;
  std::string function;
  Linear gate, in;
};

}  // namespace scalecalc
