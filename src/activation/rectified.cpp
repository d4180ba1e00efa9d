#include "activation/families.hpp"

namespace scalecalc::activation_room {

void add_rectified(Rows& rows) {
  rows.push_back({"identity", "x", "no activation", {}, {"linear"}});
  rows.push_back({"relu", "max(x, 0)", "Nair and Hinton 2010"});
  rows.push_back({"leaky_relu",
                  "max(x, 0) + a*min(x, 0)",
                  "Maas, Hannun and Ng 2013",
                  {{"a", Rational(1, 100), "slope below 0"}}});
  rows.push_back({"prelu",
                  "max(x, 0) + a*min(x, 0)",
                  "He et al. 2015",
                  {{"a", Rational(1, 4), "slope below 0, as it starts"}}});
  rows.push_back({"relu6", "min(max(x, 0), 6)", "Krizhevsky 2010"});
  rows.push_back(
      {"relu_squared", "max(x, 0)^2", "So et al. 2021 (Primer)", {}, {"squared_relu", "relu2"}});
}

}  // namespace scalecalc::activation_room
