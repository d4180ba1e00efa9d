#include "symbolic/layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "symbolic/big.hpp"

namespace scalecalc::symbolic {
namespace {

using Kind = Expr::Kind;

/// A common denominator past this would give powers that nobody reads.
constexpr std::int64_t largest_root = 64;
/// Numbers above 2^28 may be unfactored (factor_power), and do not survive a merge: what is
/// multiplied there may be read as other factors.
constexpr int factored_bits = 28;
const Rational largest_factored = std::int64_t{1} << factored_bits;
/// A coefficient 1/m goes under the root of a group while m^q stays below this.
const Rational largest_absorbed = 1000;

struct Part {
  Expr base;
  Rational exponent;
};

struct Parts {
  Rational coefficient = 1;
  std::vector<Part> primes, roots;  ///< with fractional exponents, those that may share a radical
  std::vector<Expr> others;
};

/// 1/s is read as -1/(-s) for a sum s whose opposite is preferred, and a root of that is none of s.
bool may_share_radical(const Expr& base) {
  const bool plain = base.kind() == Kind::symbol || base.kind() == Kind::constant ||
                     (base.kind() == Kind::sum && base.is_positive() && !prefers_opposite(base));
  return plain && is_nonnegative(base);
}

Parts split(const Expr& expr) {
  Parts parts;
  const std::vector<Expr> alone{expr};
  for (const Expr& factor : expr.kind() == Kind::product ? expr.operands() : alone) {
    if (factor.is_number()) {
      parts.coefficient = factor.number();
      continue;
    }
    const Expr &base = base_of(factor), &exponent = exponent_of(factor);
    const bool root = exponent.is_number() && !exponent.number().is_integer();
    if (root && base.is_number()) {
      parts.primes.push_back({base, exponent.number()});
    } else if (root && may_share_radical(base)) {
      parts.roots.push_back({base, exponent.number()});
    } else {
      parts.others.push_back(factor);
    }
  }
  return parts;
}

/// How often the prime divides the coefficient; negative in the denominator.
std::int64_t valuation(const Rational& coefficient, const Rational& prime) {
  std::int64_t count = 0;
  for (Rational rest = coefficient.numerator() / prime; rest.is_integer(); rest = rest / prime) {
    ++count;
  }
  for (Rational rest = coefficient.denominator() / prime; rest.is_integer(); rest = rest / prime) {
    --count;
  }
  return count;
}

/// Gives each prime's root the sign of its whole power in the product: 1/2*2^(3/4) is 2^(-1/4).
/// Where the symbols share one exponent and the prime has it too, it takes all of it.
void settle_primes(Parts& parts) {
  const bool shared = !parts.roots.empty() &&
                      std::all_of(parts.roots.begin(), parts.roots.end(), [&](const Part& part) {
                        return part.exponent == parts.roots[0].exponent;
                      });
  for (Part& part : parts.primes) {
    const Rational prime = part.base.number();
    const Rational whole = Rational(valuation(parts.coefficient, prime)) + part.exponent;
    Rational chosen = whole.sign() < 0 ? part.exponent - 1 : part.exponent;
    if (shared && whole == parts.roots[0].exponent) chosen = whole;
    const Rational moved = part.exponent - chosen;
    parts.coefficient = parts.coefficient * integer_power(prime, moved);
    part.exponent = chosen;
  }
}

std::int64_t common_denominator(const std::vector<Part>& parts) {
  std::int64_t common = 1;
  for (const Part& part : parts) {
    const auto denominator = part.exponent.denominator().to_int64();
    if (!denominator || *denominator > largest_root) return 0;
    common = std::lcm(common, *denominator);
    if (common > largest_root) return 0;
  }
  return common;
}

/// The numbers of a group as one: 2^3 is 8.
void merge_numbers(std::vector<Inner>& parts) {
  Rational number = 1;
  std::erase_if(parts, [&](const Inner& part) {
    if (!part.base.is_number()) return false;
    number = number * integer_power(part.base.number(), part.exponent);
    return true;
  });
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Inner& a, const Inner& b) { return b.exponent < a.exponent; });
  if (!number.is_one()) parts.insert(parts.begin(), {number, 1});
}

/// 1/2*N^(-1/2) reads (4*N)^(-1/2).
void absorb_coefficient(Rational& coefficient, RadicalGroup& group) {
  const Rational count = coefficient.denominator();
  const Rational root = Rational(-1) / group.exponent;
  if (group.exponent.sign() > 0 || !group.numerator.empty() || !root.is_integer()) return;
  if (!coefficient.numerator().is_one() || count.is_one() || largest_absorbed < count) return;
  if (largest_absorbed < root) return;
  const Rational inside = integer_power(count, root);
  if (largest_absorbed < inside) return;
  std::vector<Inner>& parts = group.denominator;
  const bool numbered = !parts.empty() && parts[0].base.is_number();
  if (numbered && largest_absorbed < inside * parts[0].base.number()) return;
  if (numbered) {
    parts[0].base = inside * parts[0].base.number();
  } else {
    parts.insert(parts.begin(), {inside, 1});
  }
  coefficient = 1;
}

/// Whether the numbers of these, as one, are read as the same primes.
bool reads_back(const std::vector<Inner>& parts) {
  double bits = 0;
  for (const Inner& part : parts) {
    if (part.base.is_number()) {
      bits += part.exponent.to_double() * std::log2(part.base.number().to_double());
    }
  }
  return bits <= factored_bits;
}

/// All of them under one root: 2^(1/4)*N^(1/4) is (2*N)^(1/4). The common exponent is negative when
/// every part's is.
RadicalGroup make_group(const std::vector<Part>& parts, std::int64_t root) {
  RadicalGroup group;
  Rational divisor;
  bool descending = true;
  for (const Part& part : parts) {
    divisor = common_divisor(divisor, part.exponent * Rational(root));
    descending = descending && part.exponent.sign() < 0;
  }
  group.exponent = divisor / Rational(root);
  for (const Part& part : parts) {
    const Rational inner = part.exponent / group.exponent;
    if (inner.sign() > 0) {
      group.numerator.push_back({part.base, inner});
    } else {
      group.denominator.push_back({part.base, -inner});
    }
  }
  if (descending) group.exponent = -group.exponent;
  return group;
}

/// The radical of those that can share one, or nothing.
std::optional<RadicalGroup> common_radical(const std::vector<Part>& parts) {
  const std::int64_t root = common_denominator(parts);
  if (root == 0 || parts.empty()) return std::nullopt;
  RadicalGroup group = make_group(parts, root);
  if (!reads_back(group.numerator) || !reads_back(group.denominator)) return std::nullopt;
  merge_numbers(group.numerator);
  merge_numbers(group.denominator);
  return group;
}

/// The primes go under the root of the symbols where what they make there can be read, else each
/// under one of its own: (169483^131*N)^(1/6) would not be taken for a power of 169483.
void make_groups(Parts& parts, ProductLayout& layout) {
  std::vector<Part> shared = parts.roots, apart;
  for (const Part& prime : parts.primes) {
    const bool factored = !(largest_factored < prime.base.number());
    (factored ? shared : apart).push_back(prime);
  }
  std::optional<RadicalGroup> common = common_radical(shared);
  if (!common) {
    apart.insert(apart.end(), shared.begin() + std::ssize(parts.roots), shared.end());
    common = common_radical(parts.roots);
    if (!common) apart.insert(apart.end(), parts.roots.begin(), parts.roots.end());
  }
  if (common && !parts.roots.empty()) absorb_coefficient(parts.coefficient, *common);
  if (common) layout.groups.push_back(std::move(*common));
  for (const Part& part : apart) {
    RadicalGroup group;
    const bool below = part.exponent.sign() < 0;
    group.exponent = part.exponent;
    (below ? group.denominator : group.numerator).push_back({part.base, 1});
    layout.groups.push_back(std::move(group));
  }
}

bool stands_before_groups(const Expr& factor) {
  const Kind kind = base_of(factor).kind();
  return kind == Kind::symbol || kind == Kind::constant;
}

/// -y*(1 - x) reads y*(x - 1).
void turn_a_sum(ProductLayout& layout) {
  if (!layout.minus) return;
  for (Expr& factor : layout.numerator) {
    if (factor.kind() != Kind::sum) continue;
    const Expr turned = -factor;
    const bool mixed = std::any_of(turned.operands().begin(), turned.operands().end(),
                                   [](const Expr& term) { return !prefers_opposite(term); });
    if (!mixed) continue;
    factor = turned;
    layout.minus = false;
    return;
  }
}

}  // namespace

ProductLayout lay_out(const Expr& expr) {
  ProductLayout layout;
  Parts parts = split(expr);
  layout.minus = parts.coefficient.sign() < 0;
  if (layout.minus) parts.coefficient = -parts.coefficient;
  settle_primes(parts);
  make_groups(parts, layout);
  layout.coefficient = parts.coefficient;
  for (const Expr& factor : parts.others) {
    const Expr& exponent = exponent_of(factor);
    if (exponent.is_number() && exponent.number().is_integer() && exponent.number().sign() < 0) {
      layout.denominator.push_back(pow(factor, -1));
    } else {
      layout.numerator.push_back(factor);
    }
  }
  std::stable_sort(layout.numerator.begin(), layout.numerator.end(),
                   [](const Expr& a, const Expr& b) {
                     return stands_before_groups(a) && !stands_before_groups(b);
                   });
  turn_a_sum(layout);
  layout.group_place = static_cast<std::size_t>(
      std::count_if(layout.numerator.begin(), layout.numerator.end(), stands_before_groups));
  return layout;
}

}  // namespace scalecalc::symbolic
