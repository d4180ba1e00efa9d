#include "moments/tanh_norm.hpp"

#include "scalecalc/symbolic.hpp"

namespace scalecalc::moments {

std::string tanh_norm(double alpha) {
  return "tanh(" + to_string(Expr(Rational::shortest(alpha)) * Expr::symbol("x")) + ")";
}

AlphaFunctions alpha_functions(double alpha) {
  const std::string value = tanh_norm(alpha), slope = "x*(1 - " + value + "^2)";
  return {slope, slope + "*" + value};
}

}  // namespace scalecalc::moments
