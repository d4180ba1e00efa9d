#include "gaussian/closed_form/ratio.hpp"

#include <algorithm>

#include "symbolic/canonical.hpp"

namespace scalecalc::gaussian {
namespace {

constexpr std::int64_t largest_power = 64;

Expr product_of(const Ring& ring, const CoprimeBase::Factored& factored) {
  // Factors whose product is no longer than they are themselves read better together: 1 - c^2.
  std::vector<Factor> factors = factored.factors;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    for (std::size_t j = i + 1; j < factors.size(); ++j) {
      const std::size_t left = factors[i].base.terms().size();
      const std::size_t right = factors[j].base.terms().size();
      if (left < 2 || right < 2 || factors[i].power != factors[j].power) continue;
      const Polynomial product = factors[i].base * factors[j].base;
      if (product.terms().size() > std::max(left, right)) continue;
      factors[i].base = product;
      factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(j--));
    }
  }
  std::vector<Expr> parts;
  for (const Factor& factor : factors)
    parts.push_back(pow(ring.expression(factor.base), factor.power));
  return symbolic::multiply(std::move(parts));
}

}  // namespace

Ratio::Ratio(Polynomial numerator, Polynomial denominator)
    : numerator_(std::move(numerator)), denominator_(std::move(denominator)) {
  if (denominator_.is_zero()) throw Error(ErrorKind::input, "division by zero");
  if (std::optional<Polynomial> quotient = divide(numerator_, denominator_)) {
    numerator_ = *std::move(quotient);
    denominator_ = 1;
    return;
  }
  if (!denominator_.is_constant()) {
    const Polynomial common = common_factor(numerator_, square_free(denominator_));
    numerator_ = *divide(numerator_, common);
    denominator_ = *divide(denominator_, common);
  }
  const PrimitivePart below = primitive_part(denominator_);
  denominator_ = below.part;
  if (!below.content.is_one()) numerator_ = numerator_ * Polynomial(Rational(1) / below.content);
}

Ratio Ratio::operator-() const {
  Ratio result = *this;
  result.numerator_ = -result.numerator_;
  return result;
}

Ratio operator+(const Ratio& a, const Ratio& b) {
  if (a.denominator_ == b.denominator_) return {a.numerator_ + b.numerator_, a.denominator_};
  const Polynomial common = common_factor(a.denominator_, square_free(b.denominator_));
  const Polynomial left = *divide(b.denominator_, common), right = *divide(a.denominator_, common);
  return {a.numerator_ * left + b.numerator_ * right, a.denominator_ * left};
}

Ratio operator-(const Ratio& a, const Ratio& b) {
  return a + -b;
}

Ratio operator*(const Ratio& a, const Ratio& b) {
  return {a.numerator_ * b.numerator_, a.denominator_ * b.denominator_};
}

Ratio operator/(const Ratio& a, const Ratio& b) {
  return {a.numerator_ * b.denominator_, a.denominator_ * b.numerator_};
}

bool operator==(const Ratio& a, const Ratio& b) {
  return a.numerator_ == b.numerator_ && a.denominator_ == b.denominator_;
}

bool operator<(const Ratio& a, const Ratio& b) {
  if (!(a.numerator_ == b.numerator_)) return a.numerator_ < b.numerator_;
  return a.denominator_ < b.denominator_;
}

SquareRoot square_root(const Ratio& value) {
  // sqrt(n/d) = sqrt(n d)/d
  const PrimitivePart whole = primitive_part(value.numerator() * value.denominator());
  Polynomial outside = 1, inside = 1;
  for (const Factor& factor : square_free(whole.part)) {
    for (int n = 0; n < factor.power / 2; ++n) outside = outside * factor.base;
    if (factor.power % 2 != 0) inside = inside * factor.base;
  }
  const Polynomial sign = divide(whole.part, outside * outside * inside)->constant().sign();
  return {Ratio(outside, value.denominator()), whole.content, inside * sign};
}

Ring::Ring()
    : variables_{Expr::symbol("q"), Expr::symbol("mu", Assumption::real),
                 Expr::symbol("c", Assumption::real)} {}

Ratio Ring::constant(const Expr& value) {
  switch (value.kind()) {
    case Expr::Kind::number: return value.number();
    case Expr::Kind::sum: {
      Ratio total;
      for (const Expr& term : value.operands()) total = total + constant(term);
      return total;
    }
    case Expr::Kind::product: {
      Ratio total = 1;
      for (const Expr& factor : value.operands()) total = total * constant(factor);
      return total;
    }
    case Expr::Kind::power: {
      const Expr& exponent = value.operands()[1];
      const auto count = exponent.is_number() ? exponent.number().to_int64() : std::nullopt;
      if (!count || *count < -largest_power || *count > largest_power) break;
      const Ratio base = constant(value.operands()[0]);
      Ratio total = 1;
      for (std::int64_t n = 0; n < std::abs(*count); ++n) total = total * base;
      return *count < 0 ? 1 / total : total;
    }
    default: break;
  }
  return opaque(value);
}

Ratio Ring::opaque(const Expr& value) {
  auto found = std::find(variables_.begin(), variables_.end(), value);
  if (found == variables_.end()) {
    if (variables_.size() == Polynomial::most_variables) {
      throw NoForm{"more than 5 constants that are no rational numbers"};
    }
    found = variables_.insert(variables_.end(), value);
  }
  return Polynomial::variable(static_cast<std::size_t>(found - variables_.begin()));
}

Expr Ring::expression(const Polynomial& value) const {
  std::vector<Expr> terms;
  for (const auto& [exponents, coefficient] : value.terms()) {
    std::vector<Expr> factors{coefficient};
    for (std::size_t k = 0; k < variables_.size(); ++k) {
      if (exponents[k] > 0) factors.push_back(pow(variables_[k], int{exponents[k]}));
    }
    terms.push_back(symbolic::multiply(std::move(factors)));
  }
  return symbolic::add(std::move(terms));
}

Expr Ring::expression(const Ratio& value) const {
  CoprimeBase base;
  for (std::size_t k = 0; k < Polynomial::most_variables; ++k) base.add(Polynomial::variable(k));
  base.add(value.numerator());
  base.add(value.denominator());
  return expression(value, base);
}

Expr Ring::expression(const Ratio& value, const CoprimeBase& base) const {
  const CoprimeBase::Factored above = base.factor(value.numerator());
  const CoprimeBase::Factored below = base.factor(value.denominator());
  return Expr(above.content / below.content) * product_of(*this, above) / product_of(*this, below);
}

Expr Ring::root(const Ratio& value) const {
  const PrimitivePart above = primitive_part(value.numerator());
  const Expr top = product_of(*this, {1, square_free(above.part)});
  const Expr below = product_of(*this, {1, square_free(value.denominator())});
  return sqrt(above.content) * sqrt(top) / sqrt(below);
}

}  // namespace scalecalc::gaussian
