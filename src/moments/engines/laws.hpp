#pragma once

#include <vector>

#include "moments/engines/formulas.hpp"
#include "scalecalc/moments.hpp"

namespace scalecalc::moments {

/// What residual branches that are alike, each of second moment `branch`, make of the stream after
/// l of them, found by the rules of residual and norm: its second moment, and the amplitude that
/// the input keeps.
std::vector<SymbolicLaw> stream_laws(Formulas& calculus, const Network& network);

}  // namespace scalecalc::moments
