#pragma once

#include <string>
#include <vector>

#include "scalecalc/moments.hpp"

namespace scalecalc::moments {

/// A SymbolicSite before it is written down.
struct FormulaSite {
  std::string path, kind;
  bool has_cross = false, has_gradient = true, in_stack = false;
  Expr second = 0, cross = 0, grad_second = 0, grad_cross = 0;
  bool uses(std::string_view symbol) const;
};
struct FormulaSites {
  std::vector<FormulaSite> sites;
  std::vector<SymbolicLaw> laws;
  std::vector<Premise> assumptions;
  Bindings values;  ///< what the symbols of the description stand for
};
FormulaSites symbolic_sites(const ModelSpec& spec);

}  // namespace scalecalc::moments
