#include "activation/families.hpp"

namespace scalecalc::activation_room {

void add_smooth(Rows& rows) {
  rows.push_back({"sin", "sin(x)", "Sitzmann et al. 2020 (SIREN)"});
  rows.push_back({"cos", "cos(x)", "Rahimi and Recht 2007"});
  rows.push_back({"gaussian", "exp(-x^2/2)", "Broomhead and Lowe 1988"});
  rows.push_back({"abs", "abs(x)", "the absolute value"});
  rows.push_back({"square", "x^2", "Livni, Shalev-Shwartz and Shamir 2014"});
  rows.push_back({"exp", "exp(x)", "the exponential function"});
}

}  // namespace scalecalc::activation_room
