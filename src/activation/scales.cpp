#include "activation/scales.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "activation/enclosure.hpp"

namespace scalecalc::activation_room {
namespace {

using Kind = Expr::Kind;

constexpr std::size_t most_scales = 96;

double at_zero(const Expr& expr) {
  return value_at(expr, 0.0);
}

struct Scale {
  double centre, width;
};

/// Where a x^2 + b x + c is 0 or, with complex roots, smallest: centre and width are the real and
/// imaginary parts of the root.
std::optional<Scale> of_quadratic(double a, double b, double c) {
  const double centre = -b / (2 * a), rest = c / a - centre * centre;
  const double width = std::sqrt(std::fabs(rest));
  return Scale{centre, width > 0 ? width : 1 / std::sqrt(std::fabs(a))};
}

/// Of an argument: linear a x + b is of order 1 within 1/|a| of its root; of others, by their
/// slope at 0.
std::optional<Scale> of_argument(const Expr& u) {
  const Expr slope = differentiate(u, "x");
  const double a = at_zero(slope), b = at_zero(u);
  if (!slope.contains("x")) return Scale{-b / a, 1 / std::fabs(a)};
  const Expr curvature = differentiate(slope, "x");
  if (!curvature.contains("x")) {
    const double half = at_zero(curvature) / 2, centre = -a / (2 * half);
    return Scale{centre, 1 / std::sqrt(std::fabs(half))};
  }
  if (std::isfinite(a) && a != 0 && std::isfinite(b)) return Scale{-b / a, 1 / std::fabs(a)};
  return std::nullopt;
}

std::optional<Scale> of_denominator(const Expr& base) {
  const Expr slope = differentiate(base, "x"), curvature = differentiate(slope, "x");
  if (!slope.contains("x")) return of_argument(base);
  if (curvature.contains("x")) return std::nullopt;
  return of_quadratic(at_zero(curvature) / 2, at_zero(slope), at_zero(base));
}

void collect(const Expr& expr, std::vector<Scale>& scales) {
  if (!expr.contains("x")) return;
  for (const Expr& operand : expr.operands()) collect(operand, scales);
  std::optional<Scale> scale;
  if (expr.kind() == Kind::function) {
    scale = of_argument(expr.operands()[0]);
  } else if (expr.kind() == Kind::power && expr.operands()[1].is_number() &&
             (expr.operands()[1].number().sign() < 0 ||
              !expr.operands()[1].number().is_integer())) {
    scale = of_denominator(expr.operands()[0]);
  }
  const bool is_usable =
      scale && std::isfinite(scale->centre) && std::isfinite(scale->width) && scale->width > 0;
  if (is_usable) scales.push_back(*scale);
}

}  // namespace

std::vector<double> scales_of(const std::vector<Expr>& pieces) {
  std::vector<Scale> scales;
  for (const Expr& piece : pieces) collect(piece, scales);
  std::vector<double> places;
  for (const auto& [centre, width] : scales) {
    places.insert(places.end(), {centre - width, centre + 0.0, centre + width});
  }
  std::sort(places.begin(), places.end());
  const auto is_near = [](double a, double b) {
    return std::fabs(a - b) <= 1e-6 * std::max(std::fabs(a), std::fabs(b));
  };
  places.erase(std::unique(places.begin(), places.end(), is_near), places.end());
  if (places.size() > most_scales) places.resize(most_scales);
  return places;
}

}  // namespace scalecalc::activation_room
