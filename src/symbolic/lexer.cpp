#include "symbolic/lexer.hpp"

#include <utility>

#include "base/text.hpp"

namespace scalecalc::symbolic {

using base::is_digit;
using base::is_letter;

const Token& Lexer::next() {
  if (!ready_) advance();
  return token_;
}

Token Lexer::take() {
  next();
  ready_ = false;
  return token_;
}

void Lexer::skip_to(std::size_t at) {
  column_ = next().column;
  for (at_ = token_.begin; at_ < at; ++column_) at_ += base::character_at(text_, at_).bytes;
  ready_ = false;
}

void Lexer::advance() {
  const std::size_t before = at_;
  while (at_ < text_.size() && lexicon_->blanks.find(text_[at_]) != std::string_view::npos) ++at_;
  column_ += static_cast<int>(at_ - before);
  token_ = {};
  token_.begin = at_;
  token_.column = column_;
  token_.adjacent = at_ == before;
  ready_ = true;
  if (at_ == text_.size()) return;
  const char c = text_[at_];
  if (c != '\0' && c == lexicon_->comment) return;
  if (is_digit(c) || (c == '.' && digit_at(at_ + 1))) {
    take_number();
  } else if (is_letter(c)) {
    take_name();
  } else if (lexicon_->quotes && (c == '"' || c == '\'')) {
    take_quoted();
  } else {
    take_sign();
  }
  for (std::size_t at = token_.begin; at < at_; ++column_) {
    at += base::character_at(text_, at).bytes;
  }
}

bool Lexer::digit_at(std::size_t at) const {
  return at < text_.size() && is_digit(text_[at]);
}

void Lexer::skip_digits() {
  const std::size_t start = at_;
  while (digit_at(at_) || (lexicon_->underscores && at_ > start && at_ < text_.size() &&
                           text_[at_] == '_' && digit_at(at_ + 1))) {
    ++at_;
  }
}

void Lexer::take_number() {
  const auto dots = [&] { return lexicon_->dots && text_.substr(at_, 3) == "..."; };
  skip_digits();
  if (at_ < text_.size() && text_[at_] == '.' && !dots()) {
    ++at_;
    skip_digits();
  }
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    std::size_t digits = at_ + 1;
    if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) ++digits;
    if (digit_at(digits)) {
      at_ = digits;
      skip_digits();
    }
  }
  token_.kind = Token::Kind::number;
  token_.text = text_.substr(token_.begin, at_ - token_.begin);
  token_.dots = dots();
  if (token_.dots) at_ += 3;
}

void Lexer::take_name() {
  while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
  token_.kind = Token::Kind::name;
  token_.text = text_.substr(token_.begin, at_ - token_.begin);
  std::size_t end = at_;
  while (lexicon_->primes && end < text_.size() && text_[end] == '\'') ++end;
  if (end < text_.size() && text_[end] == '(') {
    token_.primes = static_cast<int>(end - at_);
    at_ = end;
  }
}

void Lexer::take_quoted() {
  const std::size_t close = text_.find(text_[at_], at_ + 1);
  if (close == std::string_view::npos) {
    token_.kind = Token::Kind::unknown;
    token_.text = text_.substr(at_++, 1);
    return;
  }
  token_.kind = Token::Kind::text;
  token_.text = text_.substr(at_ + 1, close - at_ - 1);
  at_ = close + 1;
}

void Lexer::take_sign() {
  token_.kind = Token::Kind::unknown;
  token_.text = text_.substr(at_, base::character_at(text_, at_).bytes);
  for (const std::string_view sign : lexicon_->signs) {
    if (text_.substr(at_, sign.size()) != sign) continue;
    token_.kind = Token::Kind::sign;
    token_.text = text_.substr(at_, sign.size());
    break;
  }
  at_ += token_.text.size();
}

Tokens::Tokens(std::string_view text, const Lexicon& lexicon, Refuse refuse)
    : lexer_(text, lexicon), refuse_(std::move(refuse)) {
  look();
}

Token Tokens::take() {
  const Token taken = lexer_.take();
  look();
  return taken;
}

void Tokens::look() {
  token_ = lexer_.next();
  if (token_.kind == Token::Kind::unknown) refuse_(token_);
}

}  // namespace scalecalc::symbolic
