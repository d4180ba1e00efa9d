#pragma once

#include "moments/state.hpp"
#include "scalecalc/network.hpp"

namespace scalecalc::moments {

/// What scores of keys that are not alike make of tr J_t V J_u K
/// (docs/theory/attention.md#rotary-growth), under a causal mask with rotary positions: where
/// values and keys have a structure it grows with tau2 as A does, times this factor of a row
/// (`second`) and of two (`cross`). Scores of row t covary over its keys as the keys do, K_sr c(s -
/// r), with a variance of `scores.second`[t], and correlate by `scores.cross` between rows.
PerPosition turned_growth(const Attention& layer, const PerPosition& values,
                          const PerPosition& keys, const PerPosition& scores);

}  // namespace scalecalc::moments
