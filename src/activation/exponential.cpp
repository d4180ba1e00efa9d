#include "activation/families.hpp"

namespace scalecalc::activation_room {
namespace {

/// The scale and slope for which N(0, 1) is a fixed point of mean and variance, exactly (Klambauer
/// et al. 2017, equation 14).
constexpr std::string_view selu_alpha = "(2/pi)^(1/2)/(1 - erfc(2^(-1/2))*exp(1/2))";
constexpr std::string_view selu_scale =
    "(1 - erfc(2^(-1/2))*exp(1/2))*(2*pi)^(1/2)*(2*erfc(2^(1/2))*exp(2) + "
    "pi*erfc(2^(-1/2))^2*exp(1) - 2*(2 + pi)*erfc(2^(-1/2))*exp(1/2) + pi + 2)^(-1/2)";

std::string selu_formula() {
  return std::string(selu_scale) + "*(max(x, 0) + " + std::string(selu_alpha) +
         "*min(exp(x) - 1, 0))";
}

}  // namespace

void add_exponential(Rows& rows) {
  rows.push_back({"elu",
                  "max(x, 0) + a*min(exp(x) - 1, 0)",
                  "Clevert, Unterthiner and Hochreiter 2015",
                  {{"a", 1, "minus the limit at -infinity"}}});
  rows.push_back({"selu", selu_formula(), "Klambauer et al. 2017"});
  rows.push_back({"celu",
                  "max(x, 0) + min(a*(exp(x/a) - 1), 0)",
                  "Barron 2017",
                  {{"a", 1, "minus the limit at -infinity; the slope at 0 is 1"}}});
}

}  // namespace scalecalc::activation_room
