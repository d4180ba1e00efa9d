#pragma once

#include <vector>

#include "claims/sample.hpp"

namespace scalecalc::claims {

/// Points on both sides of where relu, abs, sign, step, min and max change over inside the formula,
/// found between points at which they stand differently: a formula may be another one in between.
std::vector<Values> kink_points(const Expr& formula, const std::vector<SymbolDomain>& symbols,
                                const std::vector<Sample>& samples);

}  // namespace scalecalc::claims
