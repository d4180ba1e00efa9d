#pragma once

#include <vector>

#include "scalecalc/verify.hpp"

namespace scalecalc {

/// What the failures point at: the first failing place of the forward pass, the first of the
/// backward pass, and, where no site fails, the weights whose gradient does.
std::vector<Cause> likely_causes(const Trace& predicted, const Verification& verification);

}  // namespace scalecalc
