#pragma once

#include <vector>

#include "activation/roots.hpp"

namespace scalecalc::activation_room {

/// Smooth expressions between the places where max, min, abs, sign, step and relu switch.
struct Pieces {
  std::vector<Root> breaks;       ///< rising
  std::vector<Expr> expressions;  ///< breaks.size() + 1
};
/// `poles` are places where operands have no value, and their sign may change. Throws Error(input)
/// past 64 breaks and where a piece has no real value at all.
Pieces split_into_pieces(const Expr& expr, const std::vector<Root>& poles = {});

/// Point strictly inside the piece `index`.
Real inside_piece(const std::vector<Root>& breaks, std::size_t index);
/// The ends of the piece; infinite at the outer ones.
double low_end(const std::vector<Root>& breaks, std::size_t index);
double high_end(const std::vector<Root>& breaks, std::size_t index);

}  // namespace scalecalc::activation_room
