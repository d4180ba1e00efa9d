#pragma once

#include "activation/program.hpp"
#include "activation/zones.hpp"

namespace scalecalc::activation_room {

/// A single x with a value and slope of its own: a break, or a place where the expression has only
/// a limit (sin(x)/x at 0).
struct SpecialPoint {
  double at, value, slope;
};

/// The pieces of an activation as code, joined: the right piece for each x, zones, special points.
class Compiled {
 public:
  explicit Compiled(const Activation::Impl& activation);
  /// dy may be null. Any count.
  void evaluate(const double* x, double* y, double* dy, std::size_t count) const;

  struct Piece {
    const Expr *expression, *slope;
    double low, high;
    Program value, both;
    std::vector<Zone> value_zones, slope_zones;
  };
  const std::vector<Piece>& pieces() const { return pieces_; }
  const std::vector<SpecialPoint>& special_points() const { return special_points_; }

 private:
  void measure(Piece& piece, Measure how) const;
  void run_piece(const Piece& piece, const double* x, double* y, double* dy,
                 std::size_t count) const;
  void run_block(const double* x, double* y, double* dy, std::size_t count) const;
  void set_special(const double* x, double* y, double* dy, std::size_t count) const;

  std::vector<Piece> pieces_;
  std::vector<SpecialPoint> special_points_;
};

}  // namespace scalecalc::activation_room
