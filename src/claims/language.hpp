#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "claims/place.hpp"
#include "scalecalc/symbolic.hpp"

/// The language of assertions: formulas with E[...], calls with keyword arguments, comparisons.
namespace scalecalc::claims {

struct Node {
  enum class Kind {
    number,
    name,
    text,         ///< "..." or '...'
    list,         ///< [a, b]
    index,        ///< q[i]
    negative,     ///< -a
    sum,          ///< a + b
    difference,   ///< a - b
    product,      ///< a*b
    quotient,     ///< a/b
    power,        ///< a^b
    call,         ///< f(a, b, key=c), f'(a)
    member,       ///< call.name
    expectation,  ///< E[a]
  };
  Node();  // where the class is complete: clang 14 asks for that
  Kind kind = Kind::number;
  std::string text;  ///< the name, function, member, or what is quoted
  Rational value;    ///< of a number
  int primes = 0;    ///< derivatives of the function that is called
  std::vector<Node> children;
  std::vector<std::pair<std::string, Node>> named;
  int column = 1;  ///< of the operator or of the first character
};

/// A number as it is written: its value, one unit of its last digit, and whether dots follow.
struct Written {
  Rational value, unit;
  bool truncated = false;
};
struct Tolerance {
  Rational amount;
  bool relative = false;
};

enum class Relation { equal, about, less, at_most, greater, at_least };
std::string to_string(Relation relation);

struct Assertion {
  Node left, right;
  Relation relation = Relation::equal;
  std::optional<Tolerance> within;
  std::optional<Written> written;  ///< of the right side of ~=
  std::string text;
};

/// Throw PlacedError with what would be right.
Assertion parse_assertion(const std::string& text, const Place& place);
Node parse_formula(const std::string& text, const Place& place);
/// The number that a whole text is, if it is one ("1.6732...", "-3e-2").
std::optional<Written> written_number(std::string_view text);

/// Whether a call or an expectation of that name is somewhere in the formula; "E" stands for
/// expectations.
bool mentions(const Node& node, std::string_view function);

}  // namespace scalecalc::claims
