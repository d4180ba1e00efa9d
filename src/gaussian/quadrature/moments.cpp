#include "gaussian/quadrature/moments.hpp"

#include "base/deadline.hpp"
#include "gaussian/quadrature/panel_sums.hpp"

namespace scalecalc::gaussian::quadrature {
namespace {

namespace lanes = base::vector_math;
using lanes::Real;

/// Nodes of one panel: x, and the fourth root of exp(-z^2/2), whose products with phi neither
/// overflow nor vanish before the integrand does.
void place(const Panel& panel, double slope, double* x, double* root) {
  const Rule& r = rule();
  for (std::size_t j = 0; j < Rule::padded; j += lanes::lanes) {
    const Real t = lanes::load(r.node + j);
    lanes::store(panel.x[0] + (slope * panel.half) * t, x + j);
    lanes::store(lanes::exp_of_square(panel.centre + panel.half * t, -0.125), root + j);
  }
}

/// All five at nodes j, j + 1, ... from phi and phi' there.
void add(const Real& root, const Real& x, const double* y, const double* dy, PanelSums* sums,
         std::size_t j) {
  const Real r2 = root * root, r3 = r2 * root;
  const Real p = lanes::load(y) * root, d = lanes::load(dy) * root, p2 = p * p;
  const Real dp = x * lanes::abs(lanes::load(y + 1) * root - p);
  const Real dd = x * lanes::abs(lanes::load(dy + 1) * root - d);
  const Real size = lanes::abs(p);
  sums[0].add(p * r3, dp * r3, j);
  sums[1].add(p2 * r2, 2.0 * size * dp * r2, j);
  sums[2].add(d * r3, dd * r3, j);
  sums[3].add(d * d * r2, 2.0 * lanes::abs(d) * dd * r2, j);
  sums[4].add(p2 * p2, 4.0 * size * p2 * dp, j);
}

}  // namespace

void MomentIntegrand::evaluate(const std::vector<Panel>& panels,
                               std::array<Integral, channels>* results) {
  // A part at a time stays in the first-level cache.
  constexpr std::size_t most = 16, size = most * Rule::padded;
  alignas(64) double x[size], root[size], y[size + lanes::lanes], dy[size + lanes::lanes];
  std::fill_n(y + size, lanes::lanes, 0.0);
  std::fill_n(dy + size, lanes::lanes, 0.0);
  for (std::size_t begin = 0; begin < panels.size(); begin += most) {
    base::check_deadline();
    const std::size_t count = std::min(most, panels.size() - begin);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t at = k * Rule::padded;
      place(panels[begin + k], line_.tracks[0].slope, x + at, root + at);
    }
    activation_.evaluate(x, y, dy, count * Rule::padded);
    for (std::size_t k = 0; k < count; ++k) {
      PanelSums sums[channels];
      for (std::size_t j = 0; j < Rule::padded; j += lanes::lanes) {
        const std::size_t at = k * Rule::padded + j;
        add(lanes::load(root + at), lanes::abs(lanes::load(x + at)), y + at, dy + at, sums, j);
      }
      for (std::size_t c = 0; c < channels; ++c) {
        results[begin + k][c] = sums[c].integral(panels[begin + k], line_.tracks[0].slope);
        finite_ = finite_ && std::isfinite(results[begin + k][c].absolute);
      }
    }
  }
}

}  // namespace scalecalc::gaussian::quadrature
