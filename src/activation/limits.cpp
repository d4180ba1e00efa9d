#include "activation/limits.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace scalecalc::activation_room {
namespace {

/// The value at a distance of 2^-exponent (relative, for |x| > 1) on one side.
Real value_beside(const Expr& piece, const Root& place, int side, int exponent) {
  constexpr mpfr_prec_t bits = 1200;
  const double size = std::max(1.0, std::fabs(place.at));
  Real x = real(place.where, bits);
  Real step = real(side * size);
  mpfr_div_2ui(step.get(), step.get(), static_cast<unsigned long>(exponent), MPFR_RNDN);
  mpfr_add(x.get(), x.get(), step.get(), MPFR_RNDN);
  return enclose_over(piece, point(x)).lower;
}

/// Values at distances 2^-32, 2^-48, 2^-64 that approach one another: x log|x| does, log|x| and
/// powers do not.
std::optional<double> limit_beside(const Expr& piece, const Root& place, int side) {
  const Real far = value_beside(piece, place, side, 32),
             middle = value_beside(piece, place, side, 48),
             near = value_beside(piece, place, side, 64);
  if (!far.is_finite() || !middle.is_finite() || !near.is_finite()) return std::nullopt;
  Real first(64), second(64);
  mpfr_sub(first.get(), far.get(), middle.get(), MPFR_RNDN);
  mpfr_sub(second.get(), middle.get(), near.get(), MPFR_RNDN);
  mpfr_mul_2ui(second.get(), second.get(), 4, MPFR_RNDN);
  if (second.sign() != 0 && mpfr_cmpabs(second.get(), first.get()) > 0) return std::nullopt;
  const double limit = mpfr_get_d(value_beside(piece, place, side, 160).get(), MPFR_RNDN);
  return std::fabs(limit) < 1e-40 ? 0.0 : limit;
}

/// The piece beside a place; places are among the breaks or inside a piece.
const Expr& piece_beside(const Pieces& pieces, const Root& place, int side) {
  std::size_t k = 0;
  while (k < pieces.breaks.size() &&
         (pieces.breaks[k].at < place.at || (side > 0 && pieces.breaks[k].at == place.at))) {
    ++k;
  }
  return pieces.expressions[k];
}

double limit_or_refuse(const Pieces& pieces, const Root& place, int side,
                       const std::string& shown) {
  const auto limit = limit_beside(piece_beside(pieces, place, side), place, side);
  if (limit) return *limit;
  throw Error(ErrorKind::input,
              fmt::format("'{}' has a pole at x = {:.6g}: this expectation does not exist", shown,
                          place.at == 0 ? 0.0 : place.at),
              {}, "an activation has a finite value at every x");
}

}  // namespace

std::vector<Removable> limits_at(const std::vector<Root>& places, const Pieces& pieces,
                                 const std::string& shown) {
  std::vector<Removable> found;
  for (const Root& place : places) {
    const double left = limit_or_refuse(pieces, place, -1, shown);
    found.push_back({place, left, limit_or_refuse(pieces, place, 1, shown)});
  }
  return found;
}

}  // namespace scalecalc::activation_room
