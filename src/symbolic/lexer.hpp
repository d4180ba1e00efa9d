#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

/// Cuts text into numbers, names, quoted texts and signs: for formulas, for assertions and for the
/// lines of Python that an initialisation is written in.
namespace scalecalc::symbolic {

struct Token {
  enum class Kind {
    number,   ///< 12, 1.5, .5, 2., each with an exponent or without
    name,     ///< letters, digits and _, beginning with no digit
    text,     ///< what stands between two quotes
    sign,     ///< one of the language
    unknown,  ///< a character that begins no token; a quote that is never closed
    end
  };
  Kind kind = Kind::end;
  std::string_view text;  ///< of a text without its quotes
  std::size_t begin = 0;  ///< its first byte
  int column = 1;         ///< its first character, counted from 1
  int primes = 0;         ///< of a name: relu'(
  bool dots = false;      ///< of a number: 1.67...
  bool adjacent = false;  ///< no blank before it

  bool is(std::string_view sign) const { return kind == Kind::sign && text == sign; }
  bool is_name(std::string_view name) const { return kind == Kind::name && text == name; }
};

/// What the tokens of a language are besides numbers and names.
struct Lexicon {
  std::string_view blanks;
  std::span<const std::string_view> signs;  ///< a longer one before one that it begins with
  bool quotes = false;                      ///< 'text' and "text"
  bool primes = false;                      ///< f'(x)
  bool dots = false;                        ///< 1.67...
  bool underscores = false;                 ///< 1_000
  char comment = '\0';                      ///< begins what is passed over to the end
};

/// Reads when it is asked and refuses nothing: a parser says what is wrong, and when. Text and
/// lexicon outlive it.
class Lexer {
 public:
  Lexer(std::string_view text, const Lexicon& lexicon) : text_(text), lexicon_(&lexicon) {}
  const Token& next();
  Token take();
  /// The first byte that is not taken: after next() that of the next token, before it the one
  /// after the last token.
  std::size_t at() const { return ready_ ? token_.begin : at_; }
  /// Takes what stands before that byte.
  void skip_to(std::size_t at);

 private:
  void advance();
  void take_number();
  void take_name();
  void take_quoted();
  void take_sign();
  void skip_digits();
  bool digit_at(std::size_t at) const;

  std::string_view text_;
  const Lexicon* lexicon_;
  std::size_t at_ = 0;
  int column_ = 1;
  bool ready_ = false;
  Token token_;
};

/// A lexer that hands an unknown token to `refuse`, which throws, as soon as it is the next one.
class Tokens {
 public:
  using Refuse = std::function<void(const Token&)>;
  Tokens(std::string_view text, const Lexicon& lexicon, Refuse refuse);
  const Token& next() const { return token_; }
  Token take();

 private:
  void look();

  Lexer lexer_;
  Refuse refuse_;
  Token token_;
};

/// Counts the nesting for as long as it lives; `refuse` throws.
class Nesting {
 public:
  template <class Refuse>
  Nesting(int& depth, int limit, Refuse refuse) : depth_(depth) {
    if (++depth_ > limit) refuse();
  }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

}  // namespace scalecalc::symbolic
