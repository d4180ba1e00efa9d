#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "activation/compiled.hpp"

namespace scalecalc {

struct Activation::Impl {
  std::string name;
  Expr expression, derivative;
  std::vector<Break> breaks;
  std::vector<Expr> pieces, slope_pieces;
  std::vector<double> scales;
  bool has_jump = false;
  /// Where the compiled form is still to be measured. Tests have measured the named activations
  /// everywhere, and with other parameters away from 0.
  std::optional<activation_room::Measure> unmeasured = activation_room::Measure::everywhere;
  std::vector<activation_room::SpecialPoint> special_points;

  const activation_room::Compiled& compiled() const;

 private:
  mutable std::once_flag once_;
  mutable std::unique_ptr<const activation_room::Compiled> compiled_;
};

}  // namespace scalecalc
