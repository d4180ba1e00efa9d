#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

/// Where a loss is least over a grid, and the power of the size that the place goes with
/// (docs/guide/tuning.md).
namespace scalecalc {

/// What was measured at one value of the number that is searched.
struct CurvePoint {
  double value = 0;  ///< > 0
  /// By seed, the same seeds at each value. What is not finite has diverged.
  std::vector<double> losses;

  bool diverged() const;  ///< a seed has, or there is none
  double mean() const;    ///< over seeds; infinite where one has diverged
};

/// How a minimum was found. Where it is not `inside`, value and loss are those of the lowest point;
/// beside a divergence its error is that of any place between its neighbours, else there is none.
enum class OptimumKind {
  inside,         ///< the vertex of a parabola that is convex by two standard errors
  lower_edge,     ///< the lowest point is the first of the grid
  upper_edge,     ///< the last of the grid
  at_divergence,  ///< a neighbour of the lowest point has diverged
  flat_bottom,    ///< no parabola is convex, but points on both sides lie above the lowest by
                  ///< three standard errors of the difference, or have diverged
  not_convex,     ///< the parabola is flat within its error or bends the other way, or its vertex
                  ///< lies outside of its points, and no points lie above on one side
  diverged        ///< every point has
};
/// Whether the grid has the minimum between its points, so that a law is fitted to it.
bool has_place(OptimumKind kind);
/// "inside", "lower edge", ...
std::string to_string(OptimumKind kind);
const std::vector<std::string>& optimum_kind_names();

/// loss + curvature/2 (ln v - ln value)^2.
struct CurveOptimum {
  OptimumKind kind = OptimumKind::diverged;
  double value = std::numeric_limits<double>::quiet_NaN();
  double loss = std::numeric_limits<double>::quiet_NaN();
  double log_error = std::numeric_limits<double>::quiet_NaN();  ///< standard error of ln(value)
  double curvature = std::numeric_limits<double>::quiet_NaN();
  std::size_t first = 0, last = 0;  ///< points that the parabola was fitted to, both included
  /// The value of another minimum, outside of those points, that is no higher than the lowest by
  /// two standard errors; NaN: there is none.
  double rival = std::numeric_limits<double>::quiet_NaN();
};
/// The parabola in ln(value) through the lowest mean and up to `reach` (>= 1) neighbours on each
/// side, up to where a run diverged, then through those about the point that is nearest to its
/// vertex, until that stays, weighted by the inverse squares of the standard errors. Seeds
/// have offsets of their own, which move no minimum and are taken out first; since few seeds tell
/// little of a variance, each point's is drawn towards the mean over the points, which counts as
/// four degrees of freedom. Errors grow by sqrt(chi^2/degrees of freedom) where that is above 1.
/// Of one seed all points weigh the same, and the error comes from what the parabola leaves over;
/// of three points there is none then. The values rise. Throws Error(input) for fewer than three
/// values, values that do not rise from above 0, or points of unequal seeds.
CurveOptimum curve_optimum(const std::vector<CurvePoint>& curve, std::size_t reach = 2);

/// value ~ size^exponent.
struct OptimumLaw {
  double exponent = std::numeric_limits<double>::quiet_NaN();
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  double intercept = std::numeric_limits<double>::quiet_NaN();  ///< ln of the value at size 1
  std::size_t sizes = 0;                                        ///< that it was fitted to
  double at(double size) const;
};
/// The line through (ln size, ln value) of the optima that have a place, by their errors; all alike
/// where one has none. The standard error grows as above; of two sizes it is what their errors make
/// of it. Nothing but `sizes` is known of fewer than two sizes.
OptimumLaw optimum_law(const std::vector<double>& sizes, const std::vector<CurveOptimum>& optima);

}  // namespace scalecalc
