#include "activation/families.hpp"

namespace scalecalc::activation_room {

void add_hard(Rows& rows) {
  rows.push_back(
      {"hard_sigmoid", "min(max(x + 3, 0), 6)/6", "Howard et al. 2019", {}, {"hardsigmoid"}});
  rows.push_back({"hard_tanh", "min(max(x, -1), 1)", "Collobert 2004", {}, {"hardtanh"}});
  rows.push_back({"hard_swish",
                  "x*min(max(x + 3, 0), 6)/6",
                  "Howard et al. 2019",
                  {},
                  {"hardswish", "hard_silu"}});
}

}  // namespace scalecalc::activation_room
