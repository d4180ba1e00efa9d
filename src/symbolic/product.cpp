#include <algorithm>

#include "symbolic/big.hpp"
#include "symbolic/canonical.hpp"

namespace scalecalc::symbolic {
namespace {

using Kind = Expr::Kind;

struct Power {
  Expr base, exponent, whole;  // whole is the factor as it came
};

/// The parts of a product, by how they merge.
class Factors {
 public:
  void take(const Expr& factor) {
    switch (factor.kind()) {
      case Kind::number: coefficient_ = coefficient_ * factor.number(); return;
      case Kind::product:
        for (const Expr& inner : factor.operands()) take(inner);
        return;
      case Kind::power: take_power(factor); return;
      case Kind::sum: take_sum(factor); return;
      case Kind::function:
        if (is_function(factor, "exp")) {
          exponentials_.push_back(factor);
          return;
        }
        break;
      default: break;
    }
    powers_.push_back({factor, 1, factor});
  }

  Expr merge() {
    if (coefficient_.is_zero()) return 0;
    merge_exponentials();
    std::stable_sort(powers_.begin(), powers_.end(),
                     [](const Power& a, const Power& b) { return compare(a.base, b.base) < 0; });
    std::vector<Expr> merged;
    bool settled = true;
    for (std::size_t first = 0, last; first < powers_.size(); first = last) {
      std::vector<Expr> exponents;
      for (last = first; last < powers_.size() && powers_[last].base == powers_[first].base;
           ++last) {
        exponents.push_back(powers_[last].exponent);
      }
      if (exponents.size() == 1) {
        merged.push_back(powers_[first].whole);
        continue;
      }
      const Expr exponent = add(std::move(exponents));
      if (exponent.is_zero()) continue;
      merged.push_back(pow(powers_[first].base, exponent));
      settled = settled && keeps_base(merged.back(), powers_[first].base);
    }
    return settled ? assemble(std::move(merged)) : start_again(merged);
  }

 private:
  void take_power(const Expr& factor) {
    const Expr &base = factor.operands()[0], &exponent = factor.operands()[1];
    if (base.is_number() && exponent.is_number()) {
      radicals_.push_back({base.number(), exponent.number()});
    } else {
      powers_.push_back({base, exponent, factor});
    }
  }

  void take_sum(const Expr& factor) {
    Content split = split_content(factor, true);
    coefficient_ = coefficient_ * split.content;
    powers_.push_back({split.primitive, 1, split.primitive});
  }

  /// exp(a) exp(b) = exp(a + b)
  void merge_exponentials() {
    if (exponentials_.empty()) return;
    Expr whole = exponentials_[0];
    if (exponentials_.size() > 1) {
      std::vector<Expr> arguments;
      for (const Expr& factor : exponentials_) arguments.push_back(factor.operands()[0]);
      whole = exp(add(std::move(arguments)));
    }
    exponentials_.clear();
    if (is_function(whole, "exp")) {
      powers_.push_back({whole, 1, whole});
    } else {
      take(whole);  // exp(log(x)) = x; what exponentials it still holds are a single one
      for (Expr& factor : exponentials_) powers_.push_back({factor, 1, factor});
      exponentials_.clear();
    }
  }

  static bool keeps_base(const Expr& merged, const Expr& base) {
    return merged.kind() != Kind::sum && base_of(merged) == base;
  }

  Expr start_again(const std::vector<Expr>& merged) {
    Factors next;
    next.coefficient_ = coefficient_;
    next.radicals_ = radicals_;
    for (const Expr& factor : merged) next.take(factor);
    return next.merge();
  }

  Expr assemble(std::vector<Expr> merged) {
    merge_radicals(radicals_, coefficient_);
    if (radicals_.empty() && merged.size() == 1 && merged[0].kind() == Kind::sum) {
      return scaled_sum(merged[0]);
    }
    std::vector<Expr> factors;
    if (!coefficient_.is_one()) factors.push_back(coefficient_);
    for (const Radical& radical : radicals_) {
      factors.push_back(raw_power(radical.base, radical.exponent));
    }
    factors.insert(factors.end(), merged.begin(), merged.end());
    if (factors.empty()) return 1;
    return factors.size() == 1 ? factors[0] : raw_product(std::move(factors));
  }

  Expr scaled_sum(const Expr& sum) const {
    if (coefficient_.is_one()) return sum;
    std::vector<Expr> terms;
    for (const Expr& term : sum.operands()) {
      const Scaled split = split_coefficient(term);
      terms.push_back(scaled(split.coefficient * coefficient_, split.rest));
    }
    return raw_sum(std::move(terms));
  }

  Rational coefficient_ = 1;
  std::vector<Radical> radicals_;
  std::vector<Expr> exponentials_;
  std::vector<Power> powers_;
};

}  // namespace

Expr multiply(const std::vector<Expr>& factors) {
  Factors parts;
  for (const Expr& factor : factors) parts.take(factor);
  return parts.merge();
}

}  // namespace scalecalc::symbolic

namespace scalecalc {

Expr operator*(const Expr& a, const Expr& b) {
  if (a.is_one()) return b;
  if (b.is_one()) return a;
  return symbolic::multiply({a, b});
}
Expr operator/(const Expr& a, const Expr& b) {
  return symbolic::multiply({a, pow(b, -1)});
}
Expr Expr::operator-() const {
  return symbolic::multiply({-1, *this});
}

}  // namespace scalecalc
