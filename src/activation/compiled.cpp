#include "activation/compiled.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "activation/enclosure.hpp"
#include "activation/impl.hpp"
#include "base/vector_math.hpp"
#include "symbolic/canonical.hpp"

namespace scalecalc::activation_room {
namespace {

namespace vm = base::vector_math;
using vm::lanes;

constexpr std::size_t block_size = Program::block_size;

/// Where code gave NaN for a number (0 times infinity, infinity minus infinity), the expression is
/// evaluated with as many bits as it takes.
void repair(const Expr& expr, const double* x, double* y, std::size_t count, double low,
            double high) {
  for (std::size_t i = 0; i < count; i += lanes) {
    const vm::Real value = vm::load(y + i);
    if (!vm::any(value != value)) continue;
    for (std::size_t k = i; k < i + lanes; ++k) {
      if (std::isnan(y[k]) && std::isfinite(x[k]) && x[k] >= low && x[k] <= high) {
        y[k] = value_at(expr, x[k]);
      }
    }
  }
}

/// target = source where x >= low.
void take_above(double low, const double* x, const double* source, double* target,
                std::size_t count) {
  for (std::size_t i = 0; i < count; i += lanes) {
    vm::store(vm::load(x + i) >= low ? vm::load(source + i) : vm::load(target + i), target + i);
  }
}

/// NaN of x passes through, whatever the piece.
void pass_nan(const double* x, double* y, std::size_t count) {
  for (std::size_t i = 0; i < count; i += lanes) {
    const vm::Real at = vm::load(x + i);
    vm::store(at != at ? at : vm::load(y + i), y + i);
  }
}

/// The least and the greatest x; NaN among them may be left out.
std::pair<double, double> extremes(const double* x, std::size_t count) {
  vm::Real least = vm::load(x), greatest = least;
  for (std::size_t i = lanes; i < count; i += lanes) {
    const vm::Real at = vm::load(x + i);
    least = least < at ? least : at;
    greatest = greatest > at ? greatest : at;
  }
  std::pair<double, double> result{double{least[0]}, double{greatest[0]}};
  for (std::size_t k = 1; k < lanes; ++k) {
    if (!(result.first <= least[k])) result.first = least[k];
    if (!(result.second >= greatest[k])) result.second = greatest[k];
  }
  return result;
}

/// c f(x) with the 17 digits of c that code uses: the constants of selu are slow to evaluate again
/// and again. A factor that no double is stays as it is: code has 0 or infinity for it, and is seen
/// to be wrong.
Expr with_plain_factor(const Expr& expr) {
  if (expr.kind() != Expr::Kind::product) return expr;
  std::vector<Expr> constants, rest;
  for (const Expr& factor : expr.operands()) {
    (factor.contains("x") ? rest : constants).push_back(factor);
  }
  if (constants.empty() || rest.empty()) return expr;
  const double c = constant_value(symbolic::multiply(std::move(constants)));
  if (!std::isnormal(c)) return expr;
  rest.push_back(Expr(Rational::parse(decimal(real(c), 17))));
  return symbolic::multiply(std::move(rest));
}

}  // namespace

Compiled::Compiled(const Activation::Impl& activation)
    : special_points_(activation.special_points) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Break>& breaks = activation.breaks;
  for (std::size_t k = 0; k < activation.pieces.size(); ++k) {
    Piece piece;
    piece.expression = &activation.pieces[k];
    piece.slope = &activation.slope_pieces[k];
    piece.low = k == 0 ? -infinity : breaks[k - 1].at;
    piece.high = k == breaks.size() ? infinity : breaks[k].at;
    Builder for_value, for_both;
    piece.value = Program(for_value, {Lowering(for_value).lower(*piece.expression)});
    Lowering lowering(for_both);
    const int value = lowering.lower(*piece.expression);
    const int slope = lowering.lower(*piece.slope);
    piece.both = Program(for_both, {value, slope});
    if (activation.unmeasured) measure(piece, *activation.unmeasured);
    pieces_.push_back(std::move(piece));
  }
}

void Compiled::measure(Piece& piece, Measure how) const {
  const auto code = [&](int result) {
    return [&piece, result](double x) {
      alignas(64) double in[lanes], value[lanes], slope[lanes];
      std::fill_n(in, lanes, x);
      double* outputs[] = {value, slope};
      piece.both.run(in, outputs, lanes);
      // A NaN is repaired at run time.
      const double found = result == 0 ? value[0] : slope[0];
      const Expr& expr = result == 0 ? *piece.expression : *piece.slope;
      return std::isnan(found) ? value_at(expr, x) : found;
    };
  };
  piece.value_zones =
      find_zones(with_plain_factor(*piece.expression), code(0), piece.low, piece.high, how);
  piece.slope_zones =
      find_zones(with_plain_factor(*piece.slope), code(1), piece.low, piece.high, how);
}

void Compiled::run_piece(const Piece& piece, const double* x, double* y, double* dy,
                         std::size_t count) const {
  double* outputs[] = {y, dy};
  (dy ? piece.both : piece.value).run(x, outputs, count);
  for (const Zone& zone : piece.value_zones) zone.apply(*piece.expression, x, y, count);
  repair(*piece.expression, x, y, count, piece.low, piece.high);
  if (!dy) return;
  for (const Zone& zone : piece.slope_zones) zone.apply(*piece.slope, x, dy, count);
  repair(*piece.slope, x, dy, count, piece.low, piece.high);
}

void Compiled::set_special(const double* x, double* y, double* dy, std::size_t count) const {
  for (const SpecialPoint& point : special_points_) {
    for (std::size_t i = 0; i < count; i += lanes) {
      const vm::Int here = vm::load(x + i) == point.at;
      if (!vm::any(here)) continue;
      vm::store(here ? vm::all(point.value) : vm::load(y + i), y + i);
      if (dy) vm::store(here ? vm::all(point.slope) : vm::load(dy + i), dy + i);
    }
  }
}

void Compiled::run_block(const double* x, double* y, double* dy, std::size_t count) const {
  const auto [low, high] = extremes(x, pieces_.size() > 1 ? count : lanes);
  alignas(64) double value[block_size], slope[block_size];
  bool started = false;
  for (const Piece& piece : pieces_) {
    // A NaN among the x makes every comparison false, and no piece is passed over.
    if ((piece.high <= low && std::isfinite(piece.high)) || piece.low > high) continue;
    if (!started) {
      run_piece(piece, x, y, dy, count);
      started = true;
      continue;
    }
    run_piece(piece, x, value, dy ? slope : nullptr, count);
    take_above(piece.low, x, value, y, count);
    if (dy) take_above(piece.low, x, slope, dy, count);
  }
  set_special(x, y, dy, count);
  pass_nan(x, y, count);
  if (dy) pass_nan(x, dy, count);
}

void Compiled::evaluate(const double* x, double* y, double* dy, std::size_t count) const {
  alignas(64) double in[block_size], value[block_size], slope[block_size];
  for (std::size_t first = 0; first < count; first += block_size) {
    const std::size_t size = std::min(block_size, count - first);
    const std::size_t padded = (size + lanes - 1) / lanes * lanes;
    // A copy, so that y may be x.
    std::copy_n(x + first, size, in);
    std::fill(in + size, in + padded, in[0]);
    run_block(in, value, dy ? slope : nullptr, padded);
    std::copy_n(value, size, y + first);
    if (dy) std::copy_n(slope, size, dy + first);
  }
}

}  // namespace scalecalc::activation_room
