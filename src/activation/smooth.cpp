#include "activation/families.hpp"

namespace scalecalc::activation_room {

void add_smooth(Rows& rows) {
  rows.push_back(define("sin", "sin(x)", "Sitzmann et al. 2020 (SIREN)"));
  rows.push_back(define("cos", "cos(x)", "Rahimi and Recht 2007"));
  rows.push_back(define("gaussian", "exp(-x^2/2)", "Broomhead and Lowe 1988"));
  rows.push_back(define("abs", "abs(x)", "the absolute value"));
  rows.push_back(define("square", "x^2", "Livni, Shalev-Shwartz and Shamir 2014"));
  rows.push_back(define("exp", "exp(x)", "the exponential function"));
}

}  // namespace scalecalc::activation_room
