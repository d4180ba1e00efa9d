#include "gaussian/quadrature/pair.hpp"

#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "gaussian/quadrature/hermite.hpp"
#include "gaussian/quadrature/line_product.hpp"
#include "gaussian/quadrature/panel_sums.hpp"
#include "gaussian/quadrature/plane_map.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::gaussian::quadrature {
namespace {

/// About a second; what is smooth takes a thousandth of it.
constexpr std::size_t most_panels = std::size_t{1} << 22;

/// The integral along the line at y, as a function of y.
class AcrossLines {
 public:
  static constexpr std::size_t channels = 1;
  AcrossLines(const Profile& profile, bool slope, const PairFrame& frame, const PlaneMap& map)
      : profile_(profile), slope_(slope), frame_(frame), map_(map) {
    for (const Break& at : profile.activation.breaks()) {
      const double jump = f(std::nextafter(at.at, infinite)) - f(std::nextafter(at.at, -infinite));
      if (jump != 0 && std::isfinite(jump)) jumps_.push_back({at.at, jump});
    }
  }
  const Line& line() const { return coordinate_; }
  bool is_finite() const { return finite_; }

  void evaluate(const std::vector<Panel>& panels, std::array<Integral, channels>* results) {
    for (std::size_t k = 0; k < panels.size(); ++k) results[k][0] = strip(panels[k]);
  }

 private:
  Integral strip(const Panel& panel) {
    const Rule& r = rule();
    Integral sum;
    long double coarse = 0;
    for (std::size_t j = 0; j < Rule::nodes; ++j) {
      const Integral part = along(panel.centre + panel.half * r.node[j]);
      sum.add(scaled(part, panel.half * r.kronrod[j]));
      coarse += panel.half * r.gauss[j] * part.value;
    }
    sum.error += kronrod_error(static_cast<double>(sum.value - coarse), sum.absolute);
    return sum;
  }

  Integral along(double y) {
    const Window window = map_.along(y);
    if (window.is_empty) return {};
    const Line line = frame_.line(y);
    const double density = density_factor * std::exp(-0.5 * y * y);
    // A line that is even is halved.
    const bool is_even = !frame_.is_even_across();
    const double low = is_even ? 0 : window.low;
    panels_.clear();
    fill(line, anchors(line, profile_, low, std::max(window.high, low + PlaneMap::step)), panels_);
    Limits limits;
    limits.floor = 0.1 * map_.scale() / density;
    limits.depth = 40;
    LineProduct product(profile_.activation, slope_, line);
    Integral sum = integrate(product, panels_, limits)[0];
    finite_ = finite_ && product.is_finite();
    evaluated_ += product.evaluated();
    if (evaluated_ > most_panels) refuse();
    sum.moved += sum.absolute * y * y + moved_breaks(line, low, window.high);
    return scaled(sum, is_even ? 2 * density : density);
  }

  /// Waves by the thousand in both directions.
  [[noreturn]] void refuse() const {
    throw Error(ErrorKind::unsolvable, "this pair expectation oscillates too fast for quadrature",
                base::shortened(profile_.activation.name()),
                "take a smaller variance, the closed form or samples");
  }

  /// What a rounding of x does at the breaks on the line: f of one track jumps, times f of the
  /// other.
  double moved_breaks(const Line& line, double low, double high) const {
    double sum = 0;
    for (std::size_t k = 0; k < 2; ++k) {
      const auto [offset, slope, parts] = line.tracks[k];
      for (const auto& [at, jump] : jumps_) {
        const double z = (at - offset) / slope;
        if (!(z > low && z < high)) continue;
        const double size = std::exp(-0.5 * z * z) * std::fabs(jump * f(line.at(z)[1 - k]));
        sum += density_factor * size * (parts + std::fabs(at)) / std::fabs(slope);
      }
    }
    return sum;
  }

  double f(double x) const {
    return slope_ ? profile_.activation.slope(x) : profile_.activation.value(x);
  }

  static Integral scaled(const Integral& part, double factor) {
    return {factor * part.value, factor * part.error, factor * part.absolute, factor * part.moved};
  }

  const Profile& profile_;
  bool slope_;
  const PairFrame& frame_;
  const PlaneMap& map_;
  Line coordinate_;
  std::vector<Panel> panels_;
  std::vector<std::pair<double, double>> jumps_;  ///< of f: where, and by how much
  bool finite_ = true;
  std::size_t evaluated_ = 0;
};

std::optional<Estimate> in_the_plane(const Profile& profile, bool slope, const PairFrame& frame) {
  const PlaneMap map(profile, slope, frame);
  if (!map.is_resolved()) return std::nullopt;
  const Window window = map.across();
  if (window.is_empty) return Estimate{0, std::numeric_limits<double>::min(), Method::quadrature};
  AcrossLines across(profile, slope, frame, map);
  std::vector<Panel> panels;
  fill(across.line(), frame.crossings(profile, window.low, window.high), panels);
  Limits limits;
  limits.tolerance = 16 * epsilon;
  limits.panels = 256;
  limits.depth = 30;
  const Integral sum = integrate(across, panels, limits)[0];
  if (!across.is_finite()) return std::nullopt;
  // Half of a plane that is even.
  const double factor = frame.is_even_across() ? 2 : 1;
  const double rounding = epsilon * (12 * sum.absolute + sum.moved);
  return Estimate{factor * static_cast<double>(sum.value), factor * (sum.error + rounding),
                  Method::quadrature};
}

}  // namespace

std::optional<Estimate> pair_in_double(const Profile& profile, Moment moment,
                                       const GaussianInput& input) {
  constexpr std::size_t terms = 128;
  constexpr double good = 1e-13;
  const bool slope = moment == Moment::slope_cross;
  if (profile.activation.breaks().empty()) {
    const auto series = HermiteSeries::make(profile, slope, input.mean, input.variance, terms);
    if (series) {
      const Estimate value = (*series)(*input.correlation);
      if (value.error <= good * std::fabs(value.value)) return value;
    }
  }
  return in_the_plane(profile, slope, PairFrame(input));
}

std::optional<Estimate> pair_at_angle(const Profile& profile, bool slope, double mean,
                                      double variance, double angle, bool mirrored) {
  return in_the_plane(profile, slope, PairFrame(mean, variance, angle, mirrored));
}

}  // namespace scalecalc::gaussian::quadrature
