#include <algorithm>
#include <tuple>

#include "base/deadline.hpp"
#include "gaussian/closed_form/expectation.hpp"
#include "symbolic/big.hpp"
#include "symbolic/canonical.hpp"

namespace scalecalc::gaussian {
namespace {

/// A longer number is better left where it is.
const Rational largest_common = 1000000;

/// Long polynomials are asked for powers of the variables alone.
Polynomial short_common_factor(const Polynomial& a, const Polynomial& b) {
  constexpr std::size_t most_terms_compared = 30;
  const Polynomial& longer = a.terms().size() < b.terms().size() ? b : a;
  if (longer.terms().size() <= most_terms_compared) return common_factor(a, b);
  Polynomial::Exponents least = longer.terms().begin()->first;
  for (const Polynomial* polynomial : {&a, &b}) {
    for (const auto& [exponents, coefficient] : polynomial->terms()) {
      for (std::size_t k = 0; k < least.size(); ++k) least[k] = std::min(least[k], exponents[k]);
    }
  }
  return Polynomial::term(least, 1);
}

/// Formulas past this many monomials are refused.
constexpr std::size_t longest_formula = 1000;

/// The greatest common divisor of the numerators over the least common multiple of the
/// denominators.
Ratio common_ratio(const Sum& sum) {
  Polynomial above, below = 1;
  Rational content;
  for (const auto& [kernel, coefficient] : sum.parts()) {
    above = short_common_factor(above, coefficient.numerator());
    const Polynomial shared = common_factor(below, coefficient.denominator());
    below = below * *divide(coefficient.denominator(), shared);
    content = symbolic::common_divisor(content, primitive_part(coefficient.numerator()).content);
  }
  const Rational numerator = content.numerator(), denominator = content.denominator();
  if (largest_common < numerator || largest_common < denominator) content = Rational(1);
  return Ratio(above * Polynomial(content), below);
}

Expr sum_of(const Ring& ring, const Sum& sum, const Ratio& divisor, const Expr& factor,
            const CoprimeBase& base) {
  std::vector<Expr> terms;
  for (const auto& [kernel, coefficient] : sum.parts()) {
    terms.push_back(symbolic::multiply(
        {ring.expression(coefficient / divisor, base), ring.root(Ratio(kernel.root)),
         exp(ring.expression(kernel.exponent)), kernel.kernel, factor}));
  }
  return symbolic::add(std::move(terms));
}

/// a - 2 a Phi(x) = a erf(-x/2^(1/2)), which does not cancel.
Sum with_erf(const Sum& sum) {
  const auto whole = sum.parts().find(Kernel{});
  if (whole == sum.parts().end()) return sum;
  for (const auto& [kernel, coefficient] : sum.parts()) {
    const bool plain = kernel.root.is_one() && kernel.exponent.is_zero();
    if (!plain || !symbolic::is_function(kernel.kernel, "Phi")) continue;
    if (!(coefficient == Ratio(-2) * whole->second)) continue;
    const Expr argument = -kernel.kernel.operands()[0] / sqrt(Expr(2));
    Sum result = sum;
    result += Sum(-whole->second);
    result += Sum::of(-coefficient, 1, 0, kernel.kernel);
    return result += Sum::of(whole->second, 1, 0, Expr::function("erf", {argument}));
  }
  return sum;
}

}  // namespace

bool operator<(const Kernel& a, const Kernel& b) {
  return std::tie(a.root, a.exponent, a.kernel) < std::tie(b.root, b.exponent, b.kernel);
}

Sum::Sum(const Ratio& value) {
  add({}, value);
}

Sum Sum::of(const Ratio& coefficient, const Ratio& radicand, const Ratio& exponent,
            const Expr& kernel) {
  const SquareRoot root = square_root(radicand);
  const symbolic::Scaled scaled = symbolic::split_coefficient(kernel * sqrt(Expr(root.number)));
  Sum result;
  result.add({root.inside, exponent, scaled.rest},
             coefficient * root.outside * Ratio(scaled.coefficient));
  return result;
}

void Sum::add(const Kernel& kernel, const Ratio& coefficient) {
  if (coefficient.is_zero()) return;
  const auto [place, is_new] = parts_.try_emplace(kernel, coefficient);
  if (is_new) return;
  place->second = place->second + coefficient;
  if (place->second.is_zero()) parts_.erase(place);
}

Sum& Sum::operator+=(const Sum& other) {
  for (const auto& [kernel, coefficient] : other.parts_) add(kernel, coefficient);
  return *this;
}

Sum operator*(const Sum& a, const Sum& b) {
  Sum result;
  for (const auto& [left, x] : a.parts_) {
    base::check_deadline();
    for (const auto& [right, y] : b.parts_) {
      if (left.root.is_one() && right.root.is_one() && right.kernel.is_one()) {
        result.add({1, left.exponent + right.exponent, left.kernel}, x * y);
      } else {
        result += Sum::of(x * y, left.root * right.root, left.exponent + right.exponent,
                          left.kernel * right.kernel);
      }
    }
  }
  return result;
}

Expr formula(const Ring& ring, const Sum& written) {
  const Sum sum = with_erf(written);
  if (sum.parts().empty()) return 0;
  std::size_t length = 0;
  for (const auto& [kernel, coefficient] : sum.parts()) {
    length += coefficient.numerator().terms().size();
  }
  if (length > longest_formula) {
    throw NoForm{"its formula has more than " + std::to_string(longest_formula) + " terms"};
  }
  CoprimeBase base;
  for (std::size_t k = 0; k < Polynomial::most_variables; ++k) base.add(Polynomial::variable(k));
  for (const auto& [kernel, coefficient] : sum.parts()) {
    base.add(coefficient.denominator());
    base.add(kernel.root);
  }
  std::vector<Expr> candidates{sum_of(ring, sum, 1, 1, base)};
  const Ratio common = common_ratio(sum);
  const Expr factor = ring.expression(common, base);
  candidates.push_back(factor * sum_of(ring, sum, common, 1, base));
  candidates.push_back(factor / Expr::pi() * sum_of(ring, sum, common, Expr::pi(), base));
  return *std::min_element(candidates.begin(), candidates.end(), [](const Expr& a, const Expr& b) {
    return to_string(a).size() < to_string(b).size();
  });
}

}  // namespace scalecalc::gaussian
