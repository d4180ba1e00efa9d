#pragma once

#include <cstddef>
#include <cstdint>

#include "base/philox.hpp"

namespace scalecalc::gaussian::monte_carlo {

/// Standard normal numbers: Philox block b of the stream gives numbers 2b and 2b + 1 by Box and
/// Muller's transform, which stand in out[b - first] and out[count/2 + b - first]. `count` is a
/// multiple of 16.
void fill_normals(const base::Stream& stream, std::uint64_t first, std::size_t count, double* out);

}  // namespace scalecalc::gaussian::monte_carlo
