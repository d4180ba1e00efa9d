#include "activation/families.hpp"

namespace scalecalc::activation_room {

void add_sigmoidal(Rows& rows) {
  rows.push_back({"sigmoid", "sigmoid(x)", "the logistic function", {}, {"logistic"}});
  rows.push_back({"log_sigmoid", "-softplus(-x)", "log(sigmoid(x))", {}, {"logsigmoid"}});
  rows.push_back(
      {"softplus", "softplus(b*x)/b", "Dugas et al. 2001", {{"b", 1, "steepness at 0, times 4"}}});
  rows.push_back({"tanh", "tanh(x)", "the hyperbolic tangent"});
  rows.push_back({"softsign", "x/(1 + abs(x))", "Bergstra et al. 2009"});
  rows.push_back({"erf", "erf(x)", "the error function"});
}

}  // namespace scalecalc::activation_room
