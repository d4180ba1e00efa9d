#pragma once

#include <string>

namespace scalecalc {

/// y = phi(x), entry by entry.
struct ActivationLayer {
  std::string path;
  std::string function;  ///< a name, or an expression in x
};

}  // namespace scalecalc
