#pragma once

#include <memory>

#include "moments/pointwise.hpp"

namespace scalecalc::moments {

/// All positions up to 64 (or when asked), then a grid whose steps grow with the position.
std::shared_ptr<const Positions> make_positions(std::int64_t tokens, bool all);

/// Tokens that are alike, at these positions; `batch` > 1 keeps the crosses between sequences.
PerPosition spread_over(const Alike<double>& x, std::shared_ptr<const Positions> positions,
                        std::int64_t batch);

}  // namespace scalecalc::moments
