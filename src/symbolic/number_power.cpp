#include <algorithm>

#include "base/text.hpp"
#include "symbolic/big.hpp"
#include "symbolic/canonical.hpp"

namespace scalecalc::symbolic {
namespace {

constexpr std::int64_t trial_bound = 1 << 14;
/// Longer numbers are divided by the primes below 100 alone: a text may hold thousands of them.
constexpr unsigned searched_bits = 256;
constexpr std::int64_t short_bound = 100;

/// Calls use(divisor) for 2, 3, and the numbers 6k +- 1 while it returns true.
template <class Use>
void for_trial_divisors(std::int64_t bound, Use use) {
  if (!use(2) || !use(3)) return;
  for (std::int64_t k = 5; k <= bound; k += 6) {
    if (!use(k) || !use(k + 2)) return;
  }
}

struct Factor {
  BigInteger base;
  unsigned multiplicity;
};

/// floor(value^(1/degree)), by Newton's iteration from above.
BigInteger integer_root(const BigInteger& value, unsigned degree) {
  BigInteger root = BigInteger(1) << ((bits_of(value) - 1) / degree + 1);
  while (true) {
    BigInteger next = ((degree - 1) * root + value / power(root, degree - 1)) / degree;
    if (next >= root) return root;
    root = std::move(next);
  }
}

/// A cofactor without small divisors, as a perfect power when it is one.
Factor whole_factor(BigInteger value) {
  Factor factor{std::move(value), 1};
  if (bits_of(factor.base) > searched_bits) return factor;
  for (unsigned degree = 2; degree <= (bits_of(factor.base) - 1) / 14 + 1;) {
    BigInteger root = integer_root(factor.base, degree);
    if (power(root, degree) == factor.base) {
      factor.base = std::move(root);
      factor.multiplicity *= degree;
    } else {
      ++degree;
    }
  }
  return factor;
}

void factor_small(std::int64_t value, std::vector<Factor>& factors) {
  for_trial_divisors(trial_bound, [&](std::int64_t divisor) {
    if (divisor * divisor > value) return false;
    unsigned count = 0;
    for (; value % divisor == 0; value /= divisor) ++count;
    if (count) factors.push_back({divisor, count});
    return true;
  });
  if (value == 1) return;
  factors.push_back(value < trial_bound * trial_bound ? Factor{value, 1} : whole_factor(value));
}

/// Divides by divisor^k as often as it goes; k shrinks from the largest power in a machine word.
unsigned divide_out(BigInteger& value, std::uint64_t divisor) {
  unsigned count = 0;
  std::uint64_t power = divisor;
  unsigned weight = 1;
  while (power <= (std::uint64_t{1} << 62) / divisor) {
    power *= divisor;
    ++weight;
  }
  if (value % divisor != 0) return 0;
  for (; weight > 0; --weight, power /= divisor) {
    for (; value % power == 0; value /= power) count += weight;
  }
  return count;
}

void divide_by_all(BigInteger& value, std::int64_t bound, std::vector<Factor>& factors) {
  for_trial_divisors(bound, [&](std::int64_t divisor) {
    if (const unsigned count = divide_out(value, static_cast<std::uint64_t>(divisor))) {
      factors.push_back({divisor, count});
    }
    return value != 1;
  });
}

std::vector<Factor> factorize(const Rational& integer) {
  std::vector<Factor> factors;
  if (!integer.big()) {
    factor_small(integer.small_numerator(), factors);
    return factors;
  }
  BigInteger value = big_numerator(integer);
  divide_by_all(value, short_bound, factors);
  if (bits_of(value) <= searched_bits) divide_by_all(value, trial_bound, factors);
  if (value != 1) factors.push_back(whole_factor(std::move(value)));
  return factors;
}

}  // namespace

void factor_power(const Rational& base, const Rational& exponent, std::vector<Radical>& radicals) {
  for (const Factor& factor : factorize(base.numerator())) {
    radicals.push_back({make_rational(factor.base), exponent * Rational(factor.multiplicity)});
  }
  for (const Factor& factor : factorize(base.denominator())) {
    radicals.push_back({make_rational(factor.base), -exponent * Rational(factor.multiplicity)});
  }
}

void merge_radicals(std::vector<Radical>& radicals, Rational& coefficient) {
  std::sort(radicals.begin(), radicals.end(),
            [](const Radical& a, const Radical& b) { return a.base < b.base; });
  std::vector<Radical> merged;
  for (Radical& radical : radicals) {
    if (!merged.empty() && merged.back().base == radical.base) {
      merged.back().exponent = merged.back().exponent + radical.exponent;
    } else {
      merged.push_back(std::move(radical));
    }
  }
  radicals.clear();
  for (Radical& radical : merged) {
    const Rational whole = floor(radical.exponent);
    coefficient = coefficient * integer_power(radical.base, whole);
    radical.exponent = radical.exponent - whole;
    if (!radical.exponent.is_zero()) radicals.push_back(std::move(radical));
  }
}

Expr number_power(const Rational& base, const Rational& exponent) {
  if (base.is_zero() && exponent.is_zero()) {
    throw Error(ErrorKind::input, "0^0 has no value");
  }
  if (exponent.is_integer()) return integer_power(base, exponent);
  if (base.is_zero()) {
    if (exponent.sign() < 0) throw Error(ErrorKind::input, "division by zero");
    return 0;
  }
  if (base.sign() < 0) {
    throw Error(ErrorKind::input,
                "(" + base::shortened(base.to_string(), 40) + ")^(" +
                    base::shortened(exponent.to_string(), 40) + ") has no real value",
                {}, "a fractional power needs a base that is not negative");
  }
  std::vector<Radical> radicals;
  factor_power(base, exponent, radicals);
  Rational coefficient = 1;
  merge_radicals(radicals, coefficient);
  std::vector<Expr> factors;
  if (!coefficient.is_one() || radicals.empty()) factors.push_back(coefficient);
  for (const Radical& radical : radicals) {
    factors.push_back(raw_power(radical.base, radical.exponent));
  }
  return factors.size() == 1 ? factors[0] : raw_product(std::move(factors));
}

}  // namespace scalecalc::symbolic
