#pragma once

#include <optional>

#include "scalecalc/scaling.hpp"

/// sub-ln: every matrix' gradient is of size 1 over the stream's, whatever lambda, and the stream's
/// second moment after l branches is 1 + l lambda^2. Summed over depth (the sum as an integral) the
/// equation for lambda is  lambda^s Int_0^n (1 + l lambda^2)^(-p/2) dl = 1  with n branches.
namespace scalecalc {

/// The left side, in `lambda` and n.
Expr growing_stream_equation(const StepLaw& law, const Expr& matrices);
/// lambda in closed form where there is one (p = 1).
std::optional<Expr> growing_stream_lambda(const StepLaw& law, const Expr& matrices);
/// The largest root in lambda of the equation with n branches; throws Error(unsolvable) when it
/// has none.
double growing_stream_root(const StepLaw& law, double matrices);

}  // namespace scalecalc
