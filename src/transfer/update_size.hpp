#pragma once

#include <string>

#include "scalecalc/symbolic.hpp"

/// Sizes of tensors and of updates as exponents of one ratio r: a size s stands for r^s.
namespace scalecalc {

inline const Rational half{1, 2};

const Rational& larger(const Rational& a, const Rational& b);
const Rational& smaller(const Rational& a, const Rational& b);

/// What an update is made of, in exponents: the fans of the matrix, the root mean square of an
/// entry of its gradient and of the parameter itself, the norm of all gradients, and the number of
/// such matrices side by side (columns of a router, whose gradients come from tokens of their own:
/// they add up in norms alone).
struct UpdateInputs {
  Rational fan_in, fan_out, gradient, parameter, global_norm;
  Rational columns = {};
};

/// Of a matrix: root mean square of an entry, Frobenius norm, largest singular value. Of a scalar
/// factor all three are its value.
struct UpdateSize {
  Rational entry, frobenius, singular;
};

/// By recursion over the rule, the gradient of rank one in scaling (few directions carry it): so
/// are its sign and all that acts on its entries; orthogonal(g) has full rank, and the parameter is
/// random. Sums take the larger term. Throws Error(input) for a rule that has no such size, `where`
/// as the caller knows it.
UpdateSize update_size(const Expr& rule, const UpdateInputs& inputs,
                       const std::string& where = "optimizer");

/// The powers of the update in the gradient, all gradients scaled alike, in the parameter, and of
/// the norm of all gradients alone.
struct UpdatePowers {
  Rational gradient, parameter, global_norm;
  /// Whether these hold at every size: not of max(rms(theta), 1/1000)*sign(g), or g + theta, whose
  /// powers are those of large gradients and parameters.
  bool everywhere = true;
};
UpdatePowers update_powers(const Expr& rule, const std::string& where = "optimizer");

}  // namespace scalecalc
