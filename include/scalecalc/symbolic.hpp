#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/error.hpp"

/// Exact symbolic expressions: rationals, canonical sums and products, powers with rational
/// exponents, functions; parsing, printing, differentiation, evaluation, equality, power laws.
namespace scalecalc {

/// An exact rational number, always in lowest terms with a positive denominator. Small values live
/// in two machine words; large ones in Boost.Multiprecision integers behind a pointer.
/// Numbers are bounded at 16384 bits (about 4900 digits); a larger result is an Error(input).
class Rational {
 public:
  Rational(std::int64_t numerator = 0);
  /// Throws Error(input) when the denominator is 0.
  Rational(std::int64_t numerator, std::int64_t denominator);
  /// "3", "-3/4", "0.125", "1e-3"; decimals are exact. Throws Error(input) on anything else.
  static Rational parse(std::string_view text);
  /// The shortest decimal that reads back as the same double. Throws Error(input) for an infinity
  /// or a NaN.
  static Rational shortest(double value);
  /// The double's own value, a power of two times an integer. Throws as shortest() does.
  static Rational exactly(double value);

  bool is_zero() const;
  bool is_one() const;
  bool is_integer() const;
  int sign() const;
  Rational numerator() const;
  Rational denominator() const;
  /// The value as a machine integer, when it is an integer that fits.
  std::optional<std::int64_t> to_int64() const;
  double to_double() const;       ///< correctly rounded
  std::string to_string() const;  ///< "3", "-3/4"

  Rational operator-() const;
  friend Rational operator+(const Rational&, const Rational&);
  friend Rational operator-(const Rational&, const Rational&);
  friend Rational operator*(const Rational&, const Rational&);
  /// Throws Error(input) on division by zero.
  friend Rational operator/(const Rational&, const Rational&);
  friend bool operator==(const Rational&, const Rational&);
  friend bool operator<(const Rational&, const Rational&);

  struct Big;  // two Boost.Multiprecision integers, hidden
  /// Null while the value fits two machine words.
  const std::shared_ptr<const Big>& big() const { return big_; }
  std::int64_t small_numerator() const { return numerator_; }
  std::int64_t small_denominator() const { return denominator_; }

 private:
  friend struct RationalAccess;
  std::int64_t numerator_ = 0, denominator_ = 1;
  std::shared_ptr<const Big> big_;
};

/// What is known of a symbol; decides which simplifications are valid ((x^2)^(1/2) is x only for
/// positive x, and |x| for real x).
enum class Assumption { real, positive };

/// How an expression is written.
enum class Notation { text, latex, python, c };

/// An immutable expression in canonical form. Copies are cheap (shared nodes).
///
/// Canonical form: sums and products are flat, sorted, with numeric parts folded and like terms or
/// equal bases merged; powers of products of positive factors are distributed; integer radicals are
/// reduced to prime factors (8^(1/2) is 2*2^(1/2)); sqrt(x) is x^(1/2). Two expressions with the
/// same canonical form are equal as values.
class Expr {
 public:
  enum class Kind { number, constant, symbol, sum, product, power, function };

  Expr(std::int64_t value = 0);
  Expr(int value) : Expr(static_cast<std::int64_t>(value)) {}
  Expr(Rational value);
  static Expr symbol(std::string name, Assumption assumption = Assumption::positive);
  static Expr pi();
  /// Any name: those of the formula language (exp, log, sqrt, erf, Phi, ...) evaluate and
  /// differentiate; others stay unevaluated and opaque.
  static Expr function(std::string name, std::vector<Expr> arguments);

  Kind kind() const;
  const Rational& number() const;             ///< of a number
  const std::string& name() const;            ///< of a constant, symbol or function
  Assumption assumption() const;              ///< of a symbol
  const std::vector<Expr>& operands() const;  ///< terms, factors, {base, exponent}, or arguments

  bool is_number() const { return kind() == Kind::number; }
  bool is_zero() const;
  bool is_one() const;
  /// Whether the value is known to be > 0 from the assumptions alone.
  bool is_positive() const;
  bool contains(std::string_view symbol_name) const;

  friend Expr operator+(const Expr&, const Expr&);
  friend Expr operator-(const Expr&, const Expr&);
  friend Expr operator*(const Expr&, const Expr&);
  friend Expr operator/(const Expr&, const Expr&);
  Expr operator-() const;
  friend bool operator==(const Expr&, const Expr&);  ///< same canonical form
  friend bool operator<(const Expr&, const Expr&);   ///< the canonical order

  struct Node;
  const Node& node() const { return *node_; }
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

 private:
  std::shared_ptr<const Node> node_;
};

/// Throws Error(input) where no real value exists (0^0, 1/0, a fractional power of a negative
/// number) and for exact powers past the bound of Rational. x^0 is 1 and x/x is 1 for any symbol.
Expr pow(const Expr& base, const Expr& exponent);
Expr sqrt(const Expr& value);
Expr exp(const Expr& value);
/// Throws Error(input) for a number that is not positive.
Expr log(const Expr& value);

/// The bounds every expression respects; crossing one is an Error(input) that names it.
struct ExprLimits {
  static constexpr int depth = 256;            ///< nesting of brackets, calls and ^ in a text
  static constexpr std::size_t size = 100000;  ///< nodes of one expression
  static constexpr int digits = 10000;         ///< digits of one evaluation
};

struct ParseOptions {
  /// Assumption for each name; others get `otherwise`.
  std::map<std::string, Assumption> assumptions;
  Assumption otherwise = Assumption::positive;
  /// When not empty, any other symbol is an error that names the nearest of these.
  std::vector<std::string> known_symbols;
  /// Functions of one argument besides those of the formula language, each an expression in x.
  std::map<std::string, Expr> functions;
  /// What is being parsed, for messages: "--constraint alpha", "model.toml:12:9".
  std::string where = "formula";
};

/// A parse failure knows its column (1-based, in characters) and shows a caret below the text.
/// Precedence: unary minus binds looser than ^, ^ is right-associative. Numbers are exact.
/// Throws Error(input): the message gives the column; the hint names the nearest function or
/// symbol.
/// A text has at most 16384 bytes. Functions of matrices (norm, rms, global_norm, orthogonal) parse
/// and have a degree, but no value.
Expr parse(std::string_view text, const ParseOptions& options = {});

/// The message of a parse error over three lines: text, caret, reason (for terminals).
struct ParseFailure {
  std::string text;  ///< cut at 80 characters around the column
  int column = 0;
  std::string reason;
  std::string caret() const;  ///< "text\n   ^\n"
};
/// The failure of parsing `text`, or nothing when it parses.
std::optional<ParseFailure> parse_failure(std::string_view text, const ParseOptions& options = {});

/// Text round-trips through parse. Products of radicals are grouped: (2*N)^(1/4), (8*N)^(-1/4),
/// (N^4*M)^(1/16); a lone power keeps its exponent: N^(3/2).
std::string to_string(const Expr& expr, Notation notation = Notation::text);

/// All at once. Throws Error(input) for a negative value of a positive symbol.
Expr substitute(const Expr& expr, const std::map<std::string, Expr>& values);
/// d expr / d symbol. Throws Error(input) for a function without a known derivative.
Expr differentiate(const Expr& expr, const std::string& symbol);
/// Products of sums multiplied out, powers of sums with small integer exponents too.
Expr expand(const Expr& expr);

using Bindings = std::map<std::string, double>;
/// Throws Error(input) on an unbound symbol, an opaque function, or a negative value of a positive
/// symbol. NaN and infinities are returned as IEEE gives them.
double evaluate(const Expr& expr, const Bindings& values = {});
/// `digits` significant digits in plain positional notation, from exact bindings. Every digit is
/// right, the last one rounded: a certain enclosure is narrowed until both ends round alike. Throws
/// Error(input) where there is no real value, where it cannot be told from 0, and past
/// 10^(+-20000).
std::string evaluate_digits(const Expr& expr, int digits,
                            const std::map<std::string, Expr>& values = {});

/// How an equality was decided.
struct Equality {
  enum class Verdict { equal, different, undecided };
  enum class Method { canonical, numeric };
  Verdict verdict = Verdict::undecided;
  Method method = Method::canonical;
  int points = 0;                              ///< random points compared (numeric)
  int digits = 0;                              ///< digits of each evaluation (numeric)
  std::map<std::string, std::string> witness;  ///< a point where they differ
  std::string describe() const;  ///< "proved: same canonical form", "equal at 40 random points ..."
};
/// Canonical form of a - b (also expanded) first, then random points at 50 digits (positive symbols
/// get positive values). Deterministic.
Equality equal(const Expr& a, const Expr& b);

/// coefficient * product of symbol^exponent, the coefficient free of those symbols.
struct PowerLaw {
  Expr coefficient = 1;
  std::map<std::string, Rational> exponents;  ///< of the asked symbols, zeros left out
};
/// The power law of `expr` in `symbols`, if it is one.
std::optional<PowerLaw> power_law(const Expr& expr, const std::vector<std::string>& symbols);

/// The degree p in f(t s) = t^p f(s) for t > 0, if `expr` is homogeneous in `symbol`. Functions of
/// degree 0 (sign, orthogonal) and 1 (norm, abs, relu, ...) are known.
std::optional<Rational> homogeneity(const Expr& expr, const std::string& symbol);

/// A system of monomial equations left_i = right_i in positive unknowns, solved exactly: taking
/// logarithms gives a linear system with rational coefficients.
struct MonomialSystem {
  std::vector<std::string> unknowns;
  std::vector<std::pair<Expr, Expr>> equations;
};
struct MonomialSolution {
  enum class Status { unique, underdetermined, inconsistent };
  Status status = Status::unique;
  std::map<std::string, Expr> values;  ///< when unique
  std::vector<std::string> free;       ///< unknowns left free, when underdetermined
  Expr contradiction = 1;              ///< when inconsistent: an expression that would have to be 1
  std::vector<std::vector<Rational>> matrix;  ///< the exponents, one row an equation
};
/// Throws Error(input) when a side is not a monomial in the unknowns.
MonomialSolution solve(const MonomialSystem& system);

}  // namespace scalecalc
