#include "gaussian/closed_form/polynomial.hpp"

#include <algorithm>
#include <limits>

#include "base/deadline.hpp"

namespace scalecalc::gaussian {

Polynomial::Polynomial(const Rational& value) {
  if (!value.is_zero()) terms_.emplace(Exponents{}, value);
}

Polynomial Polynomial::variable(std::size_t index) {
  Exponents exponents{};
  exponents[index] = 1;
  Polynomial result;
  result.terms_.emplace(exponents, 1);
  return result;
}

Polynomial Polynomial::term(const Exponents& exponents, const Rational& coefficient) {
  Polynomial result;
  if (!coefficient.is_zero()) result.terms_.emplace(exponents, coefficient);
  return result;
}

bool Polynomial::is_constant() const {
  return terms_.empty() || (terms_.size() == 1 && terms_.begin()->first == Exponents{});
}

bool Polynomial::is_one() const {
  return is_constant() && !is_zero() && terms_.begin()->second.is_one();
}

Rational Polynomial::constant() const {
  return terms_.empty() ? Rational(0) : terms_.begin()->second;
}

int Polynomial::degree(std::size_t variable) const {
  int degree = 0;
  for (const auto& [exponents, coefficient] : terms_) {
    degree = std::max<int>(degree, exponents[variable]);
  }
  return degree;
}

std::optional<std::size_t> Polynomial::main_variable() const {
  for (std::size_t k = most_variables; k-- > 0;) {
    if (degree(k) > 0) return k;
  }
  return std::nullopt;
}

Polynomial Polynomial::coefficient(std::size_t variable, int power) const {
  Polynomial result;
  for (const auto& [exponents, coefficient] : terms_) {
    if (exponents[variable] != power) continue;
    Exponents rest = exponents;
    rest[variable] = 0;
    result.terms_.emplace(rest, coefficient);
  }
  return result;
}

Polynomial Polynomial::derivative(std::size_t variable) const {
  Polynomial result;
  for (const auto& [exponents, coefficient] : terms_) {
    if (exponents[variable] == 0) continue;
    Exponents lowered = exponents;
    --lowered[variable];
    result.add(lowered, coefficient * Rational(exponents[variable]));
  }
  return result;
}

void Polynomial::add(const Exponents& exponents, const Rational& coefficient) {
  const auto [place, is_new] = terms_.try_emplace(exponents, coefficient);
  if (is_new) return;
  place->second = place->second + coefficient;
  if (place->second.is_zero()) terms_.erase(place);
}

Polynomial Polynomial::operator-() const {
  Polynomial result = *this;
  for (auto& [exponents, coefficient] : result.terms_) coefficient = -coefficient;
  return result;
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  Polynomial result = a;
  for (const auto& [exponents, coefficient] : b.terms_) result.add(exponents, coefficient);
  return result;
}

Polynomial operator-(const Polynomial& a, const Polynomial& b) {
  return a + -b;
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const auto& [left, x] : a.terms_) {
    base::check_deadline();
    for (const auto& [right, y] : b.terms_) {
      Polynomial::Exponents sum{};
      for (std::size_t k = 0; k < sum.size(); ++k) {
        if (left[k] > std::numeric_limits<std::uint16_t>::max() - right[k]) {
          throw Error(ErrorKind::input, "the degree of a polynomial is too large", {},
                      "degrees are limited to 65535");
        }
        sum[k] = static_cast<std::uint16_t>(left[k] + right[k]);
      }
      result.add(sum, x * y);
    }
  }
  return result;
}

bool operator==(const Polynomial& a, const Polynomial& b) {
  return a.terms_ == b.terms_;
}

bool operator<(const Polynomial& a, const Polynomial& b) {
  return std::lexicographical_compare(a.terms_.begin(), a.terms_.end(), b.terms_.begin(),
                                      b.terms_.end(), [](const auto& x, const auto& y) {
                                        if (x.first != y.first) return x.first < y.first;
                                        return x.second < y.second;
                                      });
}

std::optional<Polynomial> divide(const Polynomial& a, const Polynomial& b) {
  const auto& [top, leading] = *b.terms().begin();
  Polynomial rest = a, quotient;
  while (!rest.is_zero()) {
    base::check_deadline();
    const auto& [exponents, coefficient] = *rest.terms().begin();
    Polynomial::Exponents difference{};
    for (std::size_t k = 0; k < top.size(); ++k) {
      if (exponents[k] < top[k]) return std::nullopt;
      difference[k] = static_cast<std::uint16_t>(exponents[k] - top[k]);
    }
    const Polynomial step = Polynomial::term(difference, coefficient / leading);
    quotient = quotient + step;
    rest = rest - step * b;
  }
  return quotient;
}

}  // namespace scalecalc::gaussian
