#pragma once

#include <string>
#include <string_view>

#include "symbolic/lexer.hpp"

namespace scalecalc::symbolic {

/// A formula that does not parse; columns count characters from 1.
struct Failure {
  int column = 0;
  std::string reason, hint;
};

/// Of a formula: numbers, names and + - * / ^ ( ) , between blanks. Throws Failure at any other
/// character.
Tokens formula_tokens(std::string_view text);

}  // namespace scalecalc::symbolic
