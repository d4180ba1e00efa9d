#pragma once

#include <cstdint>
#include <vector>

#include "moments/state.hpp"
#include "scalecalc/activation.hpp"
#include "scalecalc/layers/max_pool.hpp"

/// The largest of phi(u) over windows of an image, u Gaussian with one correlation for all pairs of
/// positions (docs/theory/layers.md#max-pool).
namespace scalecalc::moments {

/// What the windows of an image have in common.
struct Windows {
  struct One {
    std::int64_t taps = 0;  ///< positions of the image in the window
    double share = 0;       ///< of the windows
  };
  /// Two different windows.
  struct Two {
    std::int64_t first = 0, second = 0, both = 0;  ///< positions in either, and in both
    double share = 0;                              ///< of the ordered pairs
  };
  std::vector<One> single;
  std::vector<Two> pairs;
  double inputs = 0, outputs = 0;  ///< positions
};
Windows windows_of(const MaxPool& layer);
/// Positions of the image in a window, on average.
double mean_taps(const Windows& windows);

/// What comes back of a gradient, for a function s of the u that is the largest.
struct WindowSlopes {
  double own = 1;      ///< E s^2 of a window
  double pairs = 1;    ///< E s s' of two windows
  double between = 1;  ///< of two windows of two images
  /// E s^2 where two windows have the same largest, added up over the other window.
  double same = 0;
};

struct WindowMaximum {
  Alike<double> value;  ///< of the largest phi(u)
  double fourth = 0;    ///< its E y^4
  WindowSlopes slopes;  ///< s = phi'
  WindowSlopes plain;   ///< s = 1
  WindowSlopes inputs;  ///< s = (u - E u) phi'
  double error = 0;     ///< by the grid, relative
};
/// What each window has of its positions on average, and each position of the windows that it is
/// in, a share of each.
Eigen::ArrayXd over_windows(const MaxPool& layer, const Eigen::ArrayXd& positions);
Eigen::ArrayXd from_windows(const MaxPool& layer, const Eigen::ArrayXd& windows);

/// `u`: raw moments of phi's input; one image has pairs of correlation `cross`, two `between`.
WindowMaximum window_maximum(const Activation& phi, const Alike<double>& u, const Windows& windows);

/// Of the gradient of the windows, that of the positions:
/// g = P_out/P_in (own g' + same k'), and all positions together have what all windows have.
Alike<double> through_windows(const Windows& windows, const WindowSlopes& slopes,
                              const Alike<double>& g);

}  // namespace scalecalc::moments
