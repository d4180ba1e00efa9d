#include "transfer/definitions.hpp"

#include "transfer/update_size.hpp"

namespace scalecalc {
namespace {

enum class Row { input, hidden, output };

Row row_of(const Growth& growth) {
  if (growth.fan_in.is_zero()) return Row::input;
  return growth.ends_in_logits && growth.fan_out.is_zero() ? Row::output : Row::hidden;
}

/// Sizes of 1: multiplier * std * sqrt(fan_in) = 1, and of logits at most fan_in^(-1/2).
DefinedStart solved(const Growth& growth, Row row, const Rational& multiplier) {
  const Rational size = row == Row::output ? -growth.fan_in : -(growth.fan_in * half);
  return {multiplier, size - multiplier};
}

}  // namespace

DefinedStart defined_start(const std::string& base, const Growth& growth,
                           const std::optional<Rational>& multiplier) {
  if (!growth.is_matrix) return {multiplier.value_or(0), 0};
  const Row row = row_of(growth);
  if (multiplier || base == "auto") return solved(growth, row, multiplier.value_or(0));
  const Rational n = row == Row::input ? growth.fan_out : growth.fan_in;
  const Rational root = n * half;
  if (base == "standard") return {0, row == Row::input ? Rational(0) : -root};
  if (base == "ntk") return {row == Row::input ? Rational(0) : -root, 0};
  if (base == "mean-field" || base == "u-mup")
    return {row == Row::input ? Rational(0) : row == Row::hidden ? -root : -n, 0};
  // |W|_op = multiplier * std * (sqrt(fan_in) + sqrt(fan_out)) = sqrt(fan_out/fan_in)
  if (base == "spectral")
    return {0,
            (growth.fan_out - growth.fan_in) * half - larger(growth.fan_in, growth.fan_out) * half};
  // mup, depth-mup, complete-p
  return {row == Row::input ? root : row == Row::hidden ? Rational(0) : -root, -root};
}

std::optional<Rational> defined_branch(const std::string& base) {
  if (base == "complete-p" || base == "auto") return {};
  return base == "depth-mup" || base == "u-mup" ? -half : Rational(0);
}

Rational feature_change_power(int matrices) {
  return matrices >= 2 ? Rational(-1) : -half;
}

}  // namespace scalecalc
