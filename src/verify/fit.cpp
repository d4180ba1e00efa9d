#include <cmath>

#include "base/statistics.hpp"
#include "scalecalc/verify.hpp"

namespace scalecalc {

/// slope = Sxy/Sxx, and its variance = (residual sum of squares)/((n - 2) Sxx).
LineFit fit_line(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size() || x.size() < 2)
    throw Error(ErrorKind::input, "a line needs two points at least, as many x as y", "fit_line",
                "give two or more");
  const double mean_x = base::sample_mean(x), mean_y = base::sample_mean(y);
  double sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sxx += (x[i] - mean_x) * (x[i] - mean_x);
    sxy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (sxx == 0)
    throw Error(ErrorKind::input, "all points have the same x", "fit_line",
                "give two different x at least");
  LineFit fit;
  fit.slope = sxy / sxx;
  fit.intercept = mean_y - fit.slope * mean_x;
  if (x.size() == 2) return fit;
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double residual = (y[i] - mean_y) - fit.slope * (x[i] - mean_x);
    squares += residual * residual;
  }
  fit.slope_standard_error = std::sqrt(squares / (static_cast<double>(x.size() - 2) * sxx));
  return fit;
}

}  // namespace scalecalc
