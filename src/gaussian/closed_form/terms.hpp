#pragma once

#include <array>
#include <vector>

#include "gaussian/closed_form/ratio.hpp"

namespace scalecalc::gaussian {

/// The value of a half-line factor: 1 beyond the threshold, 1 before it, or the sign.
enum class Sense { right, left, sign };

/// 1(w > threshold) and its kin for w = the variable plus independent noise. Phi(a x + b) is the
/// expectation of one whose noise is normal with variance 1/a^2.
struct HalfLine {
  int variable = 0;
  Sense sense = Sense::right;
  Ratio threshold;
  Ratio noise;  ///< its variance
  friend bool operator==(const HalfLine&, const HalfLine&) = default;
  friend bool operator<(const HalfLine& a, const HalfLine& b);
};

/// cos or sin of slope . (u, v) + phase.
struct Wave {
  bool present = false, sine = false;
  std::array<Ratio, 2> slope;
  Ratio phase;
  friend bool operator==(const Wave&, const Wave&) = default;
  friend bool operator<(const Wave& a, const Wave& b);
};

/// u^powers[0] v^powers[1] exp(exponent + linear . (u, v) - quadratic . (u^2, v^2)) wave
/// half-lines.
struct Shape {
  std::array<int, 2> powers{};
  Ratio exponent;
  std::array<Ratio, 2> linear, quadratic;
  Wave wave;
  std::vector<HalfLine> half_lines;  ///< in order
  friend bool operator<(const Shape& a, const Shape& b);
};

/// A sum of shapes with constant coefficients.
using Terms = std::map<Shape, Expr>;

/// More terms than these and a higher degree in u and v are refused.
inline constexpr std::size_t most_terms = 2000;
inline constexpr int highest_degree = 32;

/// 0 by its canonical form, or multiplied out when it is short.
bool is_known_zero(const Expr& value);
void add(Terms& terms, const Shape& shape, const Expr& coefficient);
Terms sum(const Terms& a, const Terms& b);
/// Throws NoForm past most_terms.
Terms product(const Ring& ring, const Terms& a, const Terms& b);
Terms power(const Ring& ring, const Terms& base, int exponent);
/// The same function of v.
Terms of_second_variable(const Terms& terms);

/// An expression in x as terms in u. Throws NoForm, naming the factor that stands in the way.
Terms read_terms(Ring& ring, const Expr& expr);

}  // namespace scalecalc::gaussian
