#pragma once

#include <string>

#include "claims/language.hpp"

/// Formulas of assertions written back to text, which reads back to the same tree.
namespace scalecalc::claims {

std::string formula_text(const Node& node);
/// "a == b within 5%".
std::string assertion_text(const Assertion& assertion);
/// "0.25" where the decimals end within 20 digits, else "1/3".
std::string number_text(const Rational& value);
/// A number as a tree, a negative one or a fraction by the operators that it is written with.
Node number_node(const Rational& value, int column);

}  // namespace scalecalc::claims
