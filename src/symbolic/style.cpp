#include "symbolic/style.hpp"

#include "symbolic/big.hpp"

namespace scalecalc::symbolic {
namespace {

constexpr std::size_t longest_output = 1 << 20;
/// Smaller denominators are written as fractions, 81/100 and not 0.81.
const Rational smallest_decimal = 1000000;
/// As many places as the smallest double has. What has more is a fraction, which is shorter, and no
/// longer than a number may be to be read.
constexpr int most_places = 1074;

/// The decimal places of an exact decimal, or -1.
int decimal_places(const Rational& value) {
  BigInteger rest = big_denominator(value);
  int twos = 0, fives = 0;
  for (; rest % 2 == 0; rest /= 2) ++twos;
  for (; rest % 5 == 0; rest /= 5) ++fives;
  return rest == 1 ? std::max(twos, fives) : -1;
}

std::string decimal_text(const Rational& value, int places) {
  const BigInteger scale = power(10, static_cast<unsigned>(places));
  std::string digits = BigInteger(big_numerator(value) * scale / big_denominator(value)).get_str();
  const auto wanted = static_cast<std::size_t>(places) + 1;
  if (digits.size() < wanted) digits.insert(0, wanted - digits.size(), '0');
  return digits.insert(digits.size() - static_cast<std::size_t>(places), ".");
}

}  // namespace

std::string Style::bracketed_below(const Piece& piece, Precedence least) const {
  return piece.precedence < least ? bracket(piece) : piece.text;
}

Piece fill(std::string_view spelling, const std::vector<Piece>& arguments, const Style& style) {
  std::string text;
  if (spelling.find('$') == std::string_view::npos) {
    text = std::string(spelling) + "(";
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      text += (k ? ", " : "") + arguments[k].text;
    }
    text += ")";
  } else {
    const std::string argument = style.bracketed_below(arguments[0], Precedence::atom);
    for (char c : spelling) {
      if (c == '$') {
        text += argument;
      } else {
        text += c;
      }
    }
  }
  if (text.size() > longest_output) {
    throw Error(ErrorKind::input, "the written expression is too long", {},
                "expressions are limited to a megabyte when written out");
  }
  return {std::move(text), Precedence::atom};
}

NumberText number_text(const Rational& value) {
  if (value.is_integer()) return {value.to_string(), {}};
  if (!(value.denominator() < smallest_decimal)) {
    const int places = decimal_places(value);
    if (places > 0 && places <= most_places) return {decimal_text(value, places), {}};
  }
  return {value.numerator().to_string(), value.denominator().to_string()};
}

}  // namespace scalecalc::symbolic
