#pragma once

#include <string>
#include <vector>

#include "activation/roots.hpp"

namespace scalecalc::activation_room {

/// Checks that every operation inside the expression has a real value on the whole line but at
/// single places, and returns those: zeros of denominators and of arguments of logarithms. Throws
/// Error(input) that names a point without a value; `shown` is the text to show.
std::vector<Root> check_domain(const Expr& expr, const std::string& shown);

[[noreturn]] void refuse_value(const std::string& shown, const Real& x);

}  // namespace scalecalc::activation_room
