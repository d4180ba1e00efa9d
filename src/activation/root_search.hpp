#pragma once

#include <optional>
#include <vector>

#include "activation/roots.hpp"

namespace scalecalc::activation_room {

/// Roots by bounds over ranges; see real_roots.
std::vector<Root> search_roots(const Expr& expr, double low, double high);

}  // namespace scalecalc::activation_room
