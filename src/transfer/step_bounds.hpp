#pragma once

#include <string>
#include <vector>

#include "transfer/starts.hpp"
#include "transfer/update_size.hpp"

namespace scalecalc {

/// What a step may change, and why no more; an empty name: features of size 1.
struct StepLimit {
  Rational value;
  const char* name = "";
};

/// One tensor on one axis, in exponents: its step.
struct Step {
  Start start;
  const Expr* rule = nullptr;
  Alignment alignment;
  Rational branch;                 ///< multiplier of its branch over the size of the stream
  Rational gradient, global_norm;  ///< an entry of theta's; the norm of all
  Rational features;               ///< by which its input moves
  StepLimit limit;
  Rational theta;  ///< its init, or what its steps have made of it, whichever is larger
  UpdateSize update;
  Rational lr;
};

/// A bound on lr: size + lr <= limit.
struct Bound {
  const char* name;
  std::string size;
  Rational limit, lr;
};

/// Sets the largest stable lr, with the size of theta that its steps lead to and of the update
/// there; of an lr that is given the sizes alone.
void solve_step(Step& step);

/// The tightest at the sizes that solve_step() has found.
Bound binding_bound(const Step& step);

}  // namespace scalecalc
