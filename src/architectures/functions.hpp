#pragma once

#include <vector>

#include "architectures/expression.hpp"

namespace scalecalc::architectures {

/// An operator or a function of values; `call` is for its name and for messages. Throws
/// Error(input).
Value apply_function(const Expression& call, const std::vector<Value>& values);

/// Throws Error(input) naming what is no number.
double to_number(const Value& value, const Expression& what);

}  // namespace scalecalc::architectures
