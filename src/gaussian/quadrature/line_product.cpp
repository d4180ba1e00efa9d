#include "gaussian/quadrature/line_product.hpp"

#include "base/deadline.hpp"
#include "gaussian/quadrature/panel_sums.hpp"

namespace scalecalc::gaussian::quadrature {

namespace lanes = base::vector_math;
using lanes::Real;

namespace {

/// x on both tracks, and the root of exp(-z^2/2): one for each factor, so that their products
/// neither overflow nor vanish before the integrand does.
void place(const Panel& panel, const Line& line, double* u, double* v, double* root) {
  const Rule& r = rule();
  for (std::size_t j = 0; j < Rule::padded; j += lanes::lanes) {
    const Real t = panel.half * lanes::load(r.node + j);
    lanes::store(panel.x[0] + line.tracks[0].slope * t, u + j);
    lanes::store(panel.x[1] + line.tracks[1].slope * t, v + j);
    lanes::store(lanes::exp_of_square(panel.centre + t, -0.25), root + j);
  }
}

}  // namespace

void LineProduct::evaluate(const std::vector<Panel>& panels,
                           std::array<Integral, channels>* results) {
  evaluated_ += panels.size();
  for (std::size_t begin = 0; begin < panels.size(); begin += most) {
    base::check_deadline();
    const std::size_t count = std::min(most, panels.size() - begin);
    evaluate_some(panels.data() + begin, count, results + begin);
  }
}

void LineProduct::evaluate_some(const Panel* panels, std::size_t count,
                                std::array<Integral, 1>* results) {
  constexpr std::size_t size = most * Rule::padded;
  alignas(64) double x[2][size], y[2][size + lanes::lanes], dy[2][size + lanes::lanes], root[size];
  for (std::size_t track = 0; track < 2; ++track) {
    std::fill_n(y[track] + size, lanes::lanes, 0.0);
    std::fill_n(dy[track] + size, lanes::lanes, 0.0);
  }
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t at = k * Rule::padded;
    place(panels[k], line_, x[0] + at, x[1] + at, root + at);
  }
  // Each track alone stays on one side of a break for longer.
  for (std::size_t track = 0; track < 2; ++track) {
    activation_.evaluate(x[track], y[track], slope_ ? dy[track] : nullptr, count * Rule::padded);
  }
  const auto& f = slope_ ? dy : y;
  // Of the parts of x: it is rounded like them where they cancel.
  const auto parts = [&](std::size_t track, const double* at) {
    return lanes::abs(lanes::load(at)) + line_.tracks[track].parts;
  };
  for (std::size_t k = 0, at = 0; k < count; ++k) {
    PanelSums sums;
    for (std::size_t j = 0; j < Rule::padded; j += lanes::lanes, at += lanes::lanes) {
      const Real g = lanes::load(root + at);
      const Real p = lanes::load(f[0] + at) * g, q = lanes::load(f[1] + at) * g;
      const Real dp = parts(0, x[0] + at) * lanes::abs(lanes::load(f[0] + at + 1) * g - p);
      const Real dq = parts(1, x[1] + at) * lanes::abs(lanes::load(f[1] + at + 1) * g - q);
      sums.add(p * q, dp * lanes::abs(q) + dq * lanes::abs(p), j);
    }
    results[k][0] = sums.integral(panels[k], line_.tracks[0].slope);
    finite_ = finite_ && std::isfinite(results[k][0].absolute);
  }
}

}  // namespace scalecalc::gaussian::quadrature
