#include <cctype>

#include "base/text.hpp"
#include "symbolic/big.hpp"

namespace scalecalc {
namespace {

constexpr std::size_t longest_number = 5000;

/// Reads sign, digits, one point, and a decimal exponent.
class DecimalReader {
 public:
  explicit DecimalReader(std::string_view text) : text_(text) {}

  Rational read() {
    if (text_.size() > longest_number) fail("numbers are limited to about 4900 digits");
    const bool negative = take('-');
    if (!negative) take('+');
    std::string digits = take_digits();
    long shift = 0;
    if (take('.')) {
      const std::string fraction = take_digits();
      shift = -static_cast<long>(fraction.size());
      digits += fraction;
    }
    if (digits.empty()) fail("a number looks like 3, -3/4, 0.125 or 1e-3");
    if (take('e') || take('E')) shift += take_exponent();
    if (at_ != text_.size()) fail("a number looks like 3, -3/4, 0.125 or 1e-3");
    digits.erase(0, digits.find_first_not_of('0'));
    if (digits.empty()) return 0;
    if (shift > 4900 || shift < -10000) fail("decimal exponents are limited to 4900");
    BigInteger top(digits, 10), bottom = 1;
    (shift < 0 ? bottom : top) *=
        symbolic::power(10, static_cast<unsigned>(shift < 0 ? -shift : shift));
    const Rational value = symbolic::make_rational(std::move(top), std::move(bottom));
    return negative ? -value : value;
  }

 private:
  bool take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  std::string take_digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  long take_exponent() {
    const bool negative = take('-');
    if (!negative) take('+');
    const std::string digits = take_digits();
    if (digits.empty()) fail("a number looks like 3, -3/4, 0.125 or 1e-3");
    if (digits.size() > 6) fail("decimal exponents are limited to 4900");
    const long value = std::stol(digits);
    return negative ? -value : value;
  }

  [[noreturn]] void fail(const std::string& hint) const {
    const std::string shown =
        text_.size() > 40 ? std::string(text_.substr(0, 40)) + "..." : std::string(text_);
    throw Error(ErrorKind::input, "'" + base::printable(shown) + "' is not a usable number", {},
                hint);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Rational Rational::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return DecimalReader(text).read();
  const Rational top = DecimalReader(text.substr(0, slash)).read();
  const std::string_view below = text.substr(slash + 1);
  if (!below.empty() && (below[0] == '-' || below[0] == '+')) return DecimalReader(text).read();
  return top / DecimalReader(below).read();
}

}  // namespace scalecalc
