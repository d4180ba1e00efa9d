#pragma once

#include <optional>
#include <string>

#include "scalecalc/symbolic.hpp"

/// Recursions over alike blocks, solved where they are linear.
namespace scalecalc::moments {

/// x(0) = first, x(l + 1) = next, where `next` is a formula in the symbol `state` for x(l) and may
/// contain `index` for l.
struct Recursion {
  std::string state;
  Expr next, first;
  std::string index = "l";
};

/// x(l) as a formula in the index: constant, arithmetic, geometric, affine (also with a shift that
/// is geometric in the index), or (where next is a(l) x(l) with a(l) = f(l + 1)/f(l)) f(l)/f(0)
/// times the first for one of `ratios` f. Each answer is put back into the recursion, and kept only
/// when both sides are equal.
std::optional<Expr> solve_recursion(const Recursion& recursion,
                                    const std::vector<Expr>& ratios = {});

/// a and b of expr = a x + b, both free of x; nothing when expr is not of that form.
struct Affine {
  Expr slope, shift;
};
std::optional<Affine> affine_in(const Expr& expr, const std::string& symbol);

}  // namespace scalecalc::moments
