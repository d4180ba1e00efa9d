#pragma once

#include <memory>
#include <mutex>

#include "activation/compiled.hpp"

namespace scalecalc {

struct Activation::Impl {
  std::string name;
  Expr expression, derivative;
  std::vector<Break> breaks;
  std::vector<Expr> pieces, slope_pieces;
  std::vector<double> scales;
  bool has_jump = false;
  /// Tests have measured the compiled form everywhere; only the neighbourhood of 0 is looked at.
  bool is_measured = false;
  std::vector<activation_room::SpecialPoint> special_points;

  const activation_room::Compiled& compiled() const;

 private:
  mutable std::once_flag once_;
  mutable std::unique_ptr<const activation_room::Compiled> compiled_;
};

}  // namespace scalecalc
