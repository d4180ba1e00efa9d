#include "activation/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "activation/domain.hpp"
#include "activation/limits.hpp"
#include "activation/scales.hpp"
#include "base/text.hpp"

namespace scalecalc::activation_room {
namespace {

/// Values on both sides of a place that differ by less are the same: limits are known to 1e-40.
bool are_equal_limits(double left, double right) {
  const double size = std::max(std::fabs(left), std::fabs(right));
  return std::fabs(left - right) <= 1e-14 * size + 1e-30;
}

/// f at a distance from a place, or there.
double beside(const Expr& expr, const Expr& where, double step) {
  constexpr mpfr_prec_t bits = 512;
  Real x = real(where, bits);
  mpfr_add_d(x.get(), x.get(), step, MPFR_RNDN);
  return value_at(expr, x);
}

/// The limit of f from one side; infinite where the values do not settle (the slope of a root).
double limit(const Expr& expr, const Expr& where, int side) {
  const double there = beside(expr, where, 0);
  if (std::isfinite(there)) return there;
  const double far = beside(expr, where, side * 0x1p-100);
  const double near = beside(expr, where, side * 0x1p-200);
  if (std::fabs(near - far) <= 1e-3 * std::fabs(near) + 1e-12) return near;
  return near > 0 ? std::numeric_limits<double>::infinity()
                  : -std::numeric_limits<double>::infinity();
}

/// Opposite infinities, as the slopes of |x|^(1/2) at 0, have the mean 0.
double mean_of(double left, double right) {
  const double mean = left + (right - left) / 2;
  return std::isnan(mean) ? 0.0 : std::isinf(left) ? left : mean;
}

class Analysis {
 public:
  explicit Analysis(Activation::Impl& result) : result_(result) {}

  void run() {
    const std::string shown = base::shortened(result_.name, 60);
    const std::vector<Root> places = check_domain(result_.expression, shown);
    Pieces pieces = split_into_pieces(result_.expression, places);
    for (std::size_t k = 0; k < pieces.expressions.size(); ++k) {
      const Real inside = inside_piece(pieces.breaks, k);
      if (enclose_over(pieces.expressions[k], point(inside)).is_nan()) refuse_value(shown, inside);
    }
    const std::vector<Removable> removable = limits_at(places, pieces, shown);
    for (const Removable& point : removable) insert_break(pieces, point);
    for (const Expr& piece : pieces.expressions) {
      result_.slope_pieces.push_back(differentiate(piece, "x"));
    }
    result_.pieces = std::move(pieces.expressions);
    for (std::size_t k = 0; k < pieces.breaks.size(); ++k) add_break(pieces.breaks[k], k);
    for (const Removable& point : removable) fill(point);
    result_.scales = scales_of(result_.pieces);
  }

 private:
  /// A removable place with different limits is a jump between two pieces of the same expression:
  /// atan(1/x) at 0.
  static void insert_break(Pieces& pieces, const Removable& point) {
    if (are_equal_limits(point.left, point.right)) return;
    std::size_t k = 0;
    while (k < pieces.breaks.size() && pieces.breaks[k].at < point.place.at) ++k;
    if (k < pieces.breaks.size() && pieces.breaks[k].at == point.place.at) return;
    pieces.breaks.insert(pieces.breaks.begin() + static_cast<std::ptrdiff_t>(k), point.place);
    const Expr same = pieces.expressions[k];
    pieces.expressions.insert(pieces.expressions.begin() + static_cast<std::ptrdiff_t>(k), same);
  }

  void add_break(const Root& place, std::size_t k) {
    const auto sides = [&](const std::vector<Expr>& pieces) {
      return std::pair(limit(pieces[k], place.where, -1), limit(pieces[k + 1], place.where, 1));
    };
    const auto [left, right] = sides(result_.pieces);
    const auto [slope_left, slope_right] = sides(result_.slope_pieces);
    Break found{place.where, place.at, !are_equal_limits(left, right), 0};
    if (found.jump) found.jump_size = right - left;
    result_.has_jump = result_.has_jump || found.jump;
    result_.breaks.push_back(std::move(found));
    result_.special_points.push_back(
        {place.at, mean_of(left, right), mean_of(slope_left, slope_right)});
  }

  void fill(const Removable& point) {
    const auto is_there = [&](const SpecialPoint& known) { return known.at == point.place.at; };
    auto& known = result_.special_points;
    if (std::any_of(known.begin(), known.end(), is_there)) return;
    std::size_t k = 0;
    while (k < result_.breaks.size() && result_.breaks[k].at < point.place.at) ++k;
    const Expr &slope = result_.slope_pieces[k], &where = point.place.where;
    known.push_back(
        {point.place.at, point.left, mean_of(limit(slope, where, -1), limit(slope, where, 1))});
  }

  Activation::Impl& result_;
};

}  // namespace

std::shared_ptr<Activation::Impl> analysed(std::string name, const Expr& expression) {
  auto result = std::make_shared<Activation::Impl>();
  result->name = std::move(name);
  result->expression = expression;
  result->derivative = differentiate(expression, "x");
  Analysis(*result).run();
  return result;
}

}  // namespace scalecalc::activation_room
