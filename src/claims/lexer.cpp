#include "claims/lexer.hpp"

#include <array>

#include "base/text.hpp"
#include "symbolic/tokens.hpp"

namespace scalecalc::claims {
namespace {

using symbolic::is_digit;
using symbolic::is_letter;

constexpr std::array<std::string_view, 19> signs = {"==", "~=", "<=", ">=", "<", ">", "+",
                                                    "-",  "*",  "/",  "^",  "(", ")", "[",
                                                    "]",  ",",  "=",  "%",  "."};

}  // namespace

std::string Place::at(int offset) const {
  return file + ":" + std::to_string(line) + ":" + std::to_string(column + offset - 1);
}

Lexer::Lexer(std::string_view text, const Place& place) : text_(text), place_(place) {
  advance();
}

Token Lexer::take() {
  Token taken = token_;
  advance();
  return taken;
}

void Lexer::fail(int column, const std::string& what, const std::string& hint) const {
  throw PlacedError(ErrorKind::input, what, place_.at(column), hint);
}

void Lexer::advance() {
  const std::size_t before = at_;
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
    ++at_;
    ++column_;
  }
  token_ = {};
  token_.column = column_;
  token_.adjacent = at_ == before;
  if (at_ == text_.size()) return;
  const std::size_t start = at_;
  const char c = text_[at_];
  const bool point = c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
  if (is_digit(c) || point) {
    take_number();
  } else if (is_letter(c)) {
    take_name();
  } else if (c == '"' || c == '\'') {
    take_quoted(c);
  } else if (!take_sign()) {
    reject();
  }
  for (std::size_t at = start; at < at_; ++column_) at += base::character_at(text_, at).bytes;
}

void Lexer::take_number() {
  const std::size_t start = at_;
  const auto skip_digits = [&] {
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  };
  skip_digits();
  if (at_ < text_.size() && text_[at_] == '.' && text_.substr(at_, 3) != "...") {
    ++at_;
    skip_digits();
  }
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    std::size_t digits = at_ + 1;
    if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) ++digits;
    if (digits < text_.size() && is_digit(text_[digits])) {
      at_ = digits;
      skip_digits();
    }
  }
  token_.kind = Token::Kind::number;
  token_.text = text_.substr(start, at_ - start);
  if (text_.substr(at_, 3) == "...") {
    token_.dots = true;
    at_ += 3;
  }
}

void Lexer::take_name() {
  const std::size_t start = at_;
  while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
  token_.kind = Token::Kind::name;
  token_.text = text_.substr(start, at_ - start);
  std::size_t end = at_;
  while (end < text_.size() && text_[end] == '\'') ++end;
  if (end < text_.size() && text_[end] == '(') {
    token_.primes = static_cast<int>(end - at_);
    at_ = end;
  }
}

void Lexer::take_quoted(char quote) {
  const std::size_t close = text_.find(quote, at_ + 1);
  if (close == std::string_view::npos)
    fail(column_, "a quoted text without its end", std::string("close it with ") + quote);
  token_.kind = Token::Kind::text;
  token_.text = text_.substr(at_ + 1, close - at_ - 1);
  at_ = close + 1;
}

bool Lexer::take_sign() {
  for (const std::string_view sign : signs) {
    if (text_.substr(at_, sign.size()) != sign) continue;
    token_.kind = Token::Kind::sign;
    token_.text = text_.substr(at_, sign.size());
    at_ += sign.size();
    return true;
  }
  return false;
}

void Lexer::reject() const {
  const base::Character found = base::character_at(text_, at_);
  const std::string shown = base::printable(text_.substr(at_, found.bytes));
  std::string hint = "an assertion is made of numbers, names, + - * / ^ ( ) [ ] , and a comparison";
  if (text_[at_] == '!') hint = "write fails = true beside an assertion that does not hold";
  fail(column_, found.valid ? "unexpected '" + shown + "'" : "a byte that is not UTF-8", hint);
}

}  // namespace scalecalc::claims
