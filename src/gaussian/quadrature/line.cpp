#include "gaussian/quadrature/line.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::gaussian::quadrature {
namespace {

/// Poles of the integrand at half a panel's width beside it leave an error of 3^-46 for the rule:
/// a panel may be twice as wide as its distance from a feature.
constexpr double growth = 2.0;

/// How wide a panel may be for the density alone. Where that underflows, an integrand that counts
/// is wider than it.
double density_width(double z) {
  return std::fabs(z) < 40 ? std::min(3.2, 32 / (1 + std::fabs(z))) : 3.2;
}

Panel panel_from(const Line& line, const Anchor& anchor, double from, double to) {
  Panel panel;
  panel.centre = anchor.z;
  panel.x = anchor.x;
  return panel.part(line, 0.5 * (from + to), 0.5 * (to - from));
}

/// From a to b in z. Next to a feature far from the mean the difference of the x is the better one:
/// panels have to meet there to the last bit of the feature's own scale.
double distance(const Line& line, const Anchor& a, const Anchor& b) {
  double best = b.z - a.z, error = std::fabs(a.z) + std::fabs(b.z);
  for (std::size_t k = 0; k < line.count; ++k) {
    const double slope = line.tracks[k].slope;
    const double other = (std::fabs(a.x[k]) + std::fabs(b.x[k])) / std::fabs(slope);
    if (!a.is_exact[k] || !b.is_exact[k] || !(other < error)) continue;
    error = other;
    best = (b.x[k] - a.x[k]) / slope;
  }
  return best;
}

/// Panels between neighbours, from both ends towards the middle; they grow with distance.
void fill_gap(const Line& line, const Anchor& a, const Anchor& b, std::vector<Panel>& panels) {
  const double length = distance(line, a, b);
  double left = 0, right = 0;
  while (true) {
    const double room = length - left - right;
    const double step_left = std::min(density_width(a.z + left), a.width + growth * left);
    const double step_right = std::min(density_width(b.z - right), b.width + growth * right);
    const double step = std::min(step_left, step_right);
    if (room <= 2 * step) {
      const bool one = room <= 1.2 * step;
      const double middle = left + 0.5 * room, end = length - right;
      panels.push_back(panel_from(line, a, left, one ? end : middle));
      if (!one) panels.push_back(panel_from(line, b, middle - length, -right));
      return;
    }
    if (step_left <= step_right) {
      panels.push_back(panel_from(line, a, left, left + step));
      left += step;
    } else {
      panels.push_back(panel_from(line, b, -right - step, -right));
      right += step;
    }
  }
}

void narrow(Anchor& anchor, const Anchor& neighbour) {
  const double distance = std::fabs(anchor.z - neighbour.z);
  anchor.width = std::min(anchor.width, neighbour.width + growth * distance);
}

}  // namespace

std::array<double, 2> Line::at(double z) const {
  return {tracks[0].offset + tracks[0].slope * z, tracks[1].offset + tracks[1].slope * z};
}

Panel Panel::part(const Line& line, double shift, double new_half) const {
  Panel result = *this;
  result.centre += shift;
  result.half = new_half;
  for (std::size_t k = 0; k < 2; ++k) result.x[k] += line.tracks[k].slope * shift;
  return result;
}

void merge_anchors(std::vector<Anchor>& anchors) {
  std::sort(anchors.begin(), anchors.end(),
            [](const Anchor& a, const Anchor& b) { return a.z < b.z; });
  std::size_t kept = 0;
  for (std::size_t k = 1; k < anchors.size(); ++k) {
    Anchor& last = anchors[kept];
    const Anchor next = anchors[k];
    const double gap = next.z - last.z, width = std::min(last.width, next.width);
    if (gap > 4e-16 * std::fabs(next.z) && !(next.is_soft && gap < 0.6 * next.width)) {
      // A soft one gives way to what is certain.
      const bool gives_way = last.is_soft && !next.is_soft && gap < 0.6 * last.width;
      anchors[gives_way ? kept : ++kept] = next;
      if (gives_way) anchors[kept].width = width;
    } else {
      last.width = width;
    }
  }
  anchors.resize(kept + 1);
  // Next to a narrow feature, a place of any kind is narrow, too.
  for (std::size_t k = 1; k <= kept; ++k) narrow(anchors[k], anchors[k - 1]);
  for (std::size_t k = kept; k > 0; --k) narrow(anchors[k - 1], anchors[k]);
}

std::vector<Anchor> anchors(const Line& line, const Profile& profile, double low, double high) {
  std::vector<Anchor> result;
  const auto add = [&](double z, double width, bool is_soft) {
    result.push_back({z, line.at(z), width, is_soft, {z == 0, z == 0}});
  };
  add(low, infinite, false);
  add(high, infinite, false);
  if (low < 0 && high > 0) add(0, infinite, false);
  for (std::size_t k = 0; k < line.count; ++k) {
    const auto [offset, slope, parts] = line.tracks[k];
    if (slope == 0) continue;
    for (const Feature& feature : profile.features) {
      const double z = (feature.at - offset) / slope, width = feature.width / std::fabs(slope);
      if (!(z > low && z < high) || (!feature.is_break && width > half_a_panel)) continue;
      add(z, width, !feature.is_break);
      result.back().x[k] = feature.at;
      result.back().is_exact[k] = true;
    }
  }
  merge_anchors(result);
  return result;
}

void fill(const Line& line, const std::vector<Anchor>& anchors, std::vector<Panel>& panels) {
  for (std::size_t k = 0; k + 1 < anchors.size(); ++k) {
    fill_gap(line, anchors[k], anchors[k + 1], panels);
  }
  std::sort(panels.begin(), panels.end(),
            [](const Panel& a, const Panel& b) { return a.centre < b.centre; });
}

}  // namespace scalecalc::gaussian::quadrature
