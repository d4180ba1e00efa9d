#include "activation/families.hpp"

namespace scalecalc::activation_room {

void add_gated(Rows& rows) {
  rows.push_back({"gelu", "x*Phi(x)", "Hendrycks and Gimpel 2016", {}, {"gelu_erf"}});
  rows.push_back({"gelu_tanh",
                  "x/2*(1 + tanh((2/pi)^(1/2)*(x + 0.044715*x^3)))",
                  "Hendrycks and Gimpel 2016, section 2",
                  {},
                  {"gelu_new"}});
  rows.push_back({"quick_gelu", "x*sigmoid(1.702*x)", "Hendrycks and Gimpel 2016, section 2"});
  rows.push_back({"silu",
                  "x*sigmoid(b*x)",
                  "Elfwing, Uchibe and Doya 2017",
                  {{"b", 1, "steepness of the gate"}},
                  {"swish"}});
  rows.push_back({"mish", "x*tanh(softplus(x))", "Misra 2019"});
}

}  // namespace scalecalc::activation_room
