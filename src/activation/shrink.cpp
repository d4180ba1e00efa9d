#include "activation/families.hpp"

namespace scalecalc::activation_room {

void add_shrink(Rows& rows) {
  rows.push_back({"tanhshrink", "x - tanh(x)", "PyTorch", {}, {"tanh_shrink"}});
  rows.push_back({"softshrink",
                  "max(x - l, 0) + min(x + l, 0)",
                  "the proximal map of l*abs(x)",
                  {{"l", Rational(1, 2), "threshold"}},
                  {"soft_shrink"}});
  rows.push_back({"hardshrink",
                  "x*step(abs(x) - l)",
                  "the proximal map of l^2/2*(x != 0)",
                  {{"l", Rational(1, 2), "threshold"}},
                  {"hard_shrink"}});
}

}  // namespace scalecalc::activation_room
