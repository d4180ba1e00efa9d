#pragma once

#include "moments/state.hpp"
#include "scalecalc/network.hpp"

namespace scalecalc::moments {

/// D' of keys as gradients weigh it (docs/theory/attention.md#rotary-structure): with the values'
/// overlaps G and those K of the keys, over the keys s of row t and r of row u under a causal mask,
///   sum (C_t G C_u)_sr K_sr c((t - s) - (u - r)) / ((n - 1) D_tu),
/// where C takes out the mean over a row's keys, n are those that both rows see, and D_tu, `apart`,
/// is of their values. Where neither overlaps nor c have a structure this is c m - c' r. `rows`:
/// c(t - u).
PerPosition turned_by_values(const Attention& layer, const Eigen::ArrayXXd& rows,
                             const PerPosition& values, const PerPosition& keys,
                             const PerPosition& apart);

/// The same at the keys: to keys s and r from all rows that see them,
///   sum over t >= s, u >= r of g_tu (C_t G C_u)_sr c((t - s) - (u - r)) / ((n - 1) D_tu)
/// with g of rows, `gradient`. Nothing between sequences.
PerPosition turned_to_keys(const Attention& layer, const PerPosition& values,
                           const PerPosition& apart, const PerPosition& gradient);

}  // namespace scalecalc::moments
