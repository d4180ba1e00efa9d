#pragma once

#include <string>

#include "scalecalc/activation.hpp"

namespace scalecalc {

/// C source, which is CUDA C++ as well, of `double phi_value(double x)` and `double
/// phi_slope(double x)`: the steps of Activation::evaluate with the functions of math.h, to the
/// same accuracy. Where evaluate() takes more bits than a double has (infinity minus infinity), the
/// result is that of the plain steps. `qualifier` stands before each function: "static",
/// "__device__".
std::string c_source(const Activation& activation, const std::string& qualifier);

}  // namespace scalecalc
