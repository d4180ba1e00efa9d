#include <array>

#include "scalecalc/gaussian.hpp"

namespace scalecalc {

std::string to_string(Moment moment) {
  static const std::array<const char*, 7> names = {"mean",   "second", "slope_mean", "slope_second",
                                                   "fourth", "cross",  "slope_cross"};
  return names[static_cast<std::size_t>(moment)];
}

const std::vector<Moment>& all_moments() {
  static const std::vector<Moment> all = {Moment::mean,         Moment::second, Moment::slope_mean,
                                          Moment::slope_second, Moment::fourth, Moment::cross,
                                          Moment::slope_cross};
  return all;
}

bool is_pair(Moment moment) {
  return moment == Moment::cross || moment == Moment::slope_cross;
}

std::string to_string(Method method) {
  switch (method) {
    case Method::closed_form: return "closed form";
    case Method::quadrature: return "quadrature";
    case Method::monte_carlo: break;
  }
  return "Monte Carlo";
}

}  // namespace scalecalc
