#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "scalecalc/symbolic.hpp"
#include "symbolic/real.hpp"

namespace scalecalc::symbolic {
struct Function;
}

namespace scalecalc::gaussian {

/// A number and a bound of its absolute error, carried through every operation.
struct Bounded {
  long double value = 0, error = 0;
};

/// A formula as a list of operations, equal parts once.
class Program {
 public:
  /// Of a formula in q, mu and c.
  explicit Program(const Expr& formula);

  /// At these values of q, mu and c; an infinite or NaN error means that nothing is known.
  Bounded evaluate(const double* inputs) const;
  symbolic::Interval enclose(const double* inputs, mpfr_prec_t bits) const;
  std::size_t size() const { return steps_.size(); }

 private:
  enum class Kind { constant, input, sum, product, whole_power, root, power, function };
  struct Step {
    Kind kind = Kind::constant;
    std::vector<std::uint32_t> arguments;
    Expr expr;                                            ///< of a constant
    Bounded constant;                                     ///< its value
    std::shared_ptr<const symbolic::Interval> enclosure;  ///< of it, to constant_bits
    int count = 0;  ///< an integer exponent, or the index of an input
    const symbolic::Function* function = nullptr;
    Bounded (*bounded)(const Bounded*) = nullptr;
  };
  struct Builder;

  Bounded run(const Step& step, const Bounded* values, const double* inputs) const;
  std::vector<Step> steps_;
};

/// The value of a formula in double: first in extended precision with its error bound, and where
/// that is not good to a unit in the last place, in intervals of growing precision. `inputs` are
/// the exact values of q, mu and c.
Bounded accurate(const Program& program, const double* inputs);

}  // namespace scalecalc::gaussian
