#pragma once

#include <string>
#include <string_view>

#include "claims/place.hpp"
#include "symbolic/lexer.hpp"

namespace scalecalc::claims {

/// Throws PlacedError at that character of the formula.
[[noreturn]] void refuse(const Place& place, int column, const std::string& what,
                         const std::string& hint);

/// Of an assertion: formulas, comparisons, lists, quoted texts, f'(x), 1.67... and 5%. Throws
/// PlacedError at any other character; text and place outlive the tokens.
symbolic::Tokens assertion_tokens(std::string_view text, const Place& place);

}  // namespace scalecalc::claims
