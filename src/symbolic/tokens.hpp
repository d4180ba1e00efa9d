#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace scalecalc::symbolic {

bool is_digit(char c);
/// A to Z, a to z and _.
bool is_letter(char c);

/// A formula that does not parse; columns count characters from 1.
struct Failure {
  int column = 0;
  std::string reason, hint;
};

struct Token {
  enum class Kind { number, name, sign, end };
  Kind kind = Kind::end;
  std::string_view text;
  int column = 0;

  bool is(char wanted) const { return kind == Kind::sign && text[0] == wanted; }
};

/// Cuts a formula into numbers, names and signs; throws Failure at any other character.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) { advance(); }
  const Token& next() const { return token_; }
  Token take() {
    Token taken = token_;
    advance();
    return taken;
  }

 private:
  void advance();
  std::string_view take_number();
  std::string_view take_name();
  [[noreturn]] void reject() const;

  std::string_view text_;
  std::size_t at_ = 0;
  int column_ = 1;
  Token token_;
};

}  // namespace scalecalc::symbolic
