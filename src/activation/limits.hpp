#pragma once

#include <string>
#include <vector>

#include "activation/pieces.hpp"

namespace scalecalc::activation_room {

/// A place where the expression itself has no value, but a limit from either side.
struct Removable {
  Root place;
  double left, right;
};

/// Throws Error(input) at a pole: where the values do not approach a number.
std::vector<Removable> limits_at(const std::vector<Root>& places, const Pieces& pieces,
                                 const std::string& shown);

}  // namespace scalecalc::activation_room
