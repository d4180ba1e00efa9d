#pragma once

#include <cstdint>
#include <vector>

#include "scalecalc/audit.hpp"
#include "weights/safetensors.hpp"

namespace scalecalc::audit_room {

/// A tensor as rows of `bounds.back()` values; part k are the columns bounds[k] .. bounds[k + 1].
struct Division {
  std::vector<std::int64_t> bounds;
};

/// What the values of each part are, in one pass over the tensor. The result does not depend on
/// the number of threads. Throws Error(input) when the file cannot be read.
std::vector<Sample> measure(const weights::Reader& reader, const weights::Tensor& tensor,
                            const Division& division, int threads);

}  // namespace scalecalc::audit_room
