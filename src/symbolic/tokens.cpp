#include "symbolic/tokens.hpp"

#include <array>
#include <utility>

#include "base/text.hpp"

namespace scalecalc::symbolic {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

namespace {

/// What people paste, and what to write instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> replacements{{
    {"\u2212", "-"},
    {"\u2013", "-"},
    {"\u00d7", "*"},
    {"\u00b7", "*"},
    {"\u00f7", "/"},
    {"\u03c0", "pi"},
    {"\u03b1", "alpha"},
    {"\u03bb", "lambda"},
    {"\u03a6", "Phi"},
    {"\u221a", "sqrt"},
    {"\u00b2", "^2"},
    {"\u00b3", "^3"},
    {"\u03b7", "eta"},
    {"\u03b8", "theta"},
    {"\u03b3", "gamma"},
    {"[", "("},
}};

}  // namespace

void Tokens::advance() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) {
    ++at_;
    ++column_;
  }
  const std::size_t start = at_;
  token_ = {Token::Kind::end, {}, column_};
  if (at_ == text_.size()) return;
  const char c = text_[at_];
  const bool point = c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
  if (is_digit(c) || point) {
    token_ = {Token::Kind::number, take_number(), column_};
  } else if (is_letter(c)) {
    token_ = {Token::Kind::name, take_name(), column_};
  } else if (std::string_view("+-*/^(),").find(c) != std::string_view::npos) {
    token_ = {Token::Kind::sign, text_.substr(at_++, 1), column_};
  } else {
    reject();
  }
  column_ += static_cast<int>(at_ - start);
}

std::string_view Tokens::take_number() {
  const std::size_t start = at_;
  const auto skip_digits = [&] {
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  };
  skip_digits();
  if (at_ < text_.size() && text_[at_] == '.') ++at_;
  skip_digits();
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    std::size_t digits = at_ + 1;
    if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) ++digits;
    if (digits < text_.size() && is_digit(text_[digits])) {
      at_ = digits;
      skip_digits();
    }
  }
  return text_.substr(start, at_ - start);
}

std::string_view Tokens::take_name() {
  const std::size_t start = at_;
  while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
  return text_.substr(start, at_ - start);
}

void Tokens::reject() const {
  const base::Character found = base::character_at(text_, at_);
  const std::string_view shown = text_.substr(at_, found.bytes);
  std::string hint = "a formula is made of numbers, names, + - * / ^ ( ) and ,";
  for (const auto& [character, instead] : replacements) {
    if (character == shown) hint = "write " + std::string(instead);
  }
  const std::string what =
      found.valid ? "'" + base::printable(shown) + "'" : std::string("a byte that is not UTF-8");
  throw Failure{column_, "unexpected " + what, hint};
}

}  // namespace scalecalc::symbolic
