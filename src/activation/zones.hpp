#pragma once

#include <functional>
#include <vector>

#include "scalecalc/activation.hpp"

namespace scalecalc::activation_room {

/// A range of x where compiled code loses digits, and what stands in for it there:
/// x^order P((x - centre) scale), sign exp(P), or evaluation with as many bits as it takes.
struct Zone {
  static constexpr std::size_t terms = 21;

  double low = 0, high = 0;  ///< low <= x <= high
  bool by_bits = false;
  int order = 0;
  int exponential = 0;  ///< the sign of exp(P); 0 for P itself
  double centre = 0, scale = 1;
  double coefficients[terms] = {};

  /// y[i] where x[i] lies inside; count is a multiple of the lanes.
  void apply(const Expr& expr, const double* x, double* y, std::size_t count) const;
};

/// How closely the compiled code is looked at: everywhere, or near 0 alone.
enum class Measure { everywhere, near_zero };

using Compute = std::function<double(double)>;
/// Errors are counted in units in the last place of |f(x)| + |x f'(x)|, which is what a rounding of
/// x may change. Between the points where code is measured the error swings: half as many are
/// allowed there as are promised.
inline constexpr double measured_units = 8, promised_units = 16;
/// Ranges between low and high where code is further from the expression.
std::vector<Zone> find_zones(const Expr& expr, const Compute& code, double low, double high,
                             Measure measure, double units = measured_units);
bool is_accurate(const Expr& expr, double x, double value, double units = promised_units);

}  // namespace scalecalc::activation_room
