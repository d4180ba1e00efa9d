#include "transfer/definitions.hpp"

#include "transfer/update_size.hpp"

namespace scalecalc {
namespace {

enum class Row { input, hidden, output };

Row row_of(const Growth& growth) {
  if (growth.fan_in.is_zero()) return Row::input;
  return growth.ends_in_logits && growth.fan_out.is_zero() ? Row::output : Row::hidden;
}

/// Sizes of 1: multiplier * std * sqrt(fan_in) = 1, and of logits fan_in^(-1/2).
DefinedStart solved(const Growth& growth, const StartNumbers& given) {
  const Rational size = !growth.is_matrix               ? Rational(0)
                        : row_of(growth) == Row::output ? -growth.fan_in
                                                        : -(growth.fan_in * half);
  if (given.multiplier) return {*given.multiplier, given.std.value_or(size - *given.multiplier)};
  return given.std ? DefinedStart{size - *given.std, *given.std} : DefinedStart{0, size};
}

DefinedStart named(const std::string& base, const Growth& growth) {
  if (!growth.is_matrix) return {0, 0};
  const Row row = row_of(growth);
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

}  // namespace

DefinedStart defined_start(const std::string& base, const Growth& growth,
                           const StartNumbers& given) {
  if (base == "auto") return solved(growth, given);
  const DefinedStart defined = named(base, growth);
  return {given.multiplier.value_or(defined.multiplier), given.std.value_or(defined.std)};
}

std::optional<Rational> defined_branch(const std::string& base) {
  if (base == "complete-p" || base == "auto") return {};
  return base == "depth-mup" || base == "u-mup" ? -half : Rational(0);
}

Rational feature_change_power(int matrices) {
  return matrices >= 2 ? Rational(-1) : -half;
}

}  // namespace scalecalc
