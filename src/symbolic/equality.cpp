#include <cstdint>
#include <set>

#include "symbolic/canonical.hpp"
#include "symbolic/evaluate.hpp"

namespace scalecalc {
namespace symbolic {
namespace {

constexpr int wanted_points = 40, most_attempts = 160, compared_digits = 50;
constexpr mpfr_prec_t first_bits = 256, last_bits = 4096;

/// Steele, Lea and Flood 2014: a counter through a mixing function.
class SplitMix {
 public:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_ = 0x5ca1ecab1e;
};

void collect_symbols(const Expr& expr, std::map<std::string, Assumption>& symbols) {
  if (expr.kind() == Expr::Kind::symbol) {
    Assumption& known = symbols.try_emplace(expr.name(), expr.assumption()).first->second;
    if (expr.assumption() == Assumption::positive) known = Assumption::positive;
  }
  for (const Expr& child : expr.operands()) collect_symbols(child, symbols);
}

/// k/1024 with k up to 2^10 and a power of two from 1/8 to 8.
Rational random_value(SplitMix& random, Assumption assumption) {
  const auto numerator = static_cast<std::int64_t>(1024 + random.next() % 1024);
  const auto scale = static_cast<std::int64_t>(random.next() % 7);
  const Rational value = Rational(numerator, 8192) * Rational(std::int64_t{1} << scale);
  const bool turn = assumption == Assumption::real && random.next() % 2 == 0;
  return turn ? -value : value;
}

enum class Comparison { same, different, unusable };

/// Whether the width of the difference is below 10^-50 of the operands.
bool is_negligible(const Interval& difference, const Interval& a, const Interval& b) {
  const Interval larger = arithmetic::max(arithmetic::abs(a), arithmetic::abs(b));
  Real width(difference.bits());
  mpfr_sub(width.get(), difference.upper.get(), difference.lower.get(), MPFR_RNDU);
  if (width.sign() == 0) return true;
  if (!width.is_finite() || !larger.upper.is_finite()) return false;
  const mpfr_exp_t needed = static_cast<mpfr_exp_t>(compared_digits * 3.33) + 1;
  if (larger.upper.sign() == 0) return true;
  const mpfr_exp_t magnitude = mpfr_get_exp(larger.upper.get());
  return mpfr_get_exp(width.get()) < magnitude - needed ||
         (difference.bits() == last_bits && mpfr_get_exp(width.get()) < -needed * 10);
}

Comparison compare_at(const Expr& a, const Expr& b, const std::map<std::string, Rational>& point) {
  for (mpfr_prec_t bits = first_bits; bits <= last_bits; bits *= 2) {
    const Interval left = enclose(a, point, bits), right = enclose(b, point, bits);
    if (left.is_nan() || right.is_nan()) return Comparison::unusable;
    const Interval difference = left - right;
    if (difference.is_nan()) return Comparison::unusable;
    if (!difference.contains_zero()) return Comparison::different;
    if (is_negligible(difference, left, right)) return Comparison::same;
  }
  return Comparison::unusable;
}

bool is_canonically_zero(const Expr& difference) {
  if (difference.is_zero()) return true;
  try {
    return expand(difference).is_zero();
  } catch (const Error&) {
    return false;  // too large to be multiplied out: the points decide
  }
}

/// An enclosure of a point where the expression has a pole or an opaque function may not exist.
std::optional<Comparison> try_compare(const Expr& a, const Expr& b,
                                      const std::map<std::string, Rational>& point) {
  try {
    return compare_at(a, b, point);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace
}  // namespace symbolic

Equality equal(const Expr& a, const Expr& b) {
  using namespace symbolic;
  Equality result;
  const Expr difference = a - b;
  if (is_canonically_zero(difference)) {
    result.verdict = Equality::Verdict::equal;
    return result;
  }
  if (difference.is_number()) {
    result.verdict = Equality::Verdict::different;
    return result;
  }
  result.method = Equality::Method::numeric;
  result.digits = compared_digits;
  std::map<std::string, Assumption> symbols;
  collect_symbols(a, symbols);
  collect_symbols(b, symbols);
  SplitMix random;
  const int wanted = symbols.empty() ? 1 : wanted_points;
  for (int attempt = 0; attempt < most_attempts && result.points < wanted; ++attempt) {
    std::map<std::string, Rational> point;
    for (const auto& [name, assumption] : symbols) point[name] = random_value(random, assumption);
    const std::optional<Comparison> comparison = try_compare(a, b, point);
    if (!comparison) return result;
    if (*comparison == Comparison::different) {
      ++result.points;
      result.verdict = Equality::Verdict::different;
      for (const auto& [name, value] : point) result.witness[name] = value.to_string();
      return result;
    }
    if (*comparison == Comparison::same) ++result.points;
    if (symbols.empty()) break;
  }
  if (result.points > 0) result.verdict = Equality::Verdict::equal;
  return result;
}

std::string Equality::describe() const {
  if (method == Method::canonical) {
    return verdict == Verdict::equal ? "proved: same canonical form"
                                     : "proved different: the difference is a number other than 0";
  }
  const std::string precision = " to " + std::to_string(digits) + " digits";
  if (verdict == Verdict::undecided) return "undecided: no point could be evaluated";
  if (verdict == Verdict::equal) {
    if (points == 1) return "equal" + precision;
    return "equal at " + std::to_string(points) + " random points" + precision;
  }
  if (witness.empty()) return "different" + precision;
  std::string where;
  for (const auto& [name, value] : witness)
    where += (where.empty() ? "" : ", ") + name + " = " + value;
  return "different at " + where;
}

}  // namespace scalecalc
