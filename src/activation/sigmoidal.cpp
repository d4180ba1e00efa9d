#include "activation/families.hpp"

namespace scalecalc::activation_room {

void add_sigmoidal(Rows& rows) {
  rows.push_back(define("sigmoid", "sigmoid(x)", "the logistic function", {}, {"logistic"}));
  rows.push_back(define("log_sigmoid", "-softplus(-x)", "log(sigmoid(x))", {}, {"logsigmoid"}));
  rows.push_back(define("softplus", "softplus(b*x)/b", "Dugas et al. 2001",
                        {{"b", 1, "steepness at 0, times 4"}}));
  rows.push_back(define("tanh", "tanh(x)", "the hyperbolic tangent"));
  rows.push_back(define("softsign", "x/(1 + abs(x))", "Bergstra et al. 2009"));
  rows.push_back(define("erf", "erf(x)", "the error function"));
}

}  // namespace scalecalc::activation_room
