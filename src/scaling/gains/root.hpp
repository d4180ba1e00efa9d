#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "scalecalc/gains.hpp"

namespace scalecalc::gains_room {

using Function = std::function<double(double)>;
/// {f, f'}.
using WithSlope = std::function<std::pair<double, double>(double)>;

/// `count` points from low to high, evenly.
std::vector<double> grid(double low, double high, int count);

/// ln q from q = 1e-12 to 1e8, 8 a decade: where solvers look.
std::vector<double> scan();

struct Bracket {
  double low = 0, high = 0;
};
/// Neighbouring points between which f changes sign; those where f is not finite, or too near 0 to
/// tell its sign from rounding, are passed over.
std::vector<Bracket> sign_changes(const std::vector<double>& values,
                                  const std::vector<double>& points);
std::vector<Bracket> sign_changes(const Function& f, const std::vector<double>& points);

/// The root in a bracket: TOMS 748, to the last bits of a double.
Root bracketed_root(const Function& f, const Bracket& bracket);
/// The same by Newton steps kept inside the bracket.
Root newton_root(const WithSlope& f, const Bracket& bracket);

/// A root to `digits` digits by the secant rule in exact numbers, from its double, which stays
/// where it is exact. `f`, of size 1, gives its value to the number of digits it is asked for.
using Precise = std::function<Rational(const Rational& x, int digits)>;
Rational precise_root(const Precise& f, double start, int digits);
/// 10^-power.
Rational tenth_to(int power);
/// Rounded to so many digits, as a decimal.
Rational rounded(const Rational& value, int digits);

}  // namespace scalecalc::gains_room
