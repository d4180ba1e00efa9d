#pragma once

#include "scalecalc/export.hpp"
#include "weights/safetensors.hpp"

namespace scalecalc::export_room {

/// Throws Error(input) for a dtype that is none.
weights::WriteOptions file_options(const WeightOptions& options);

}  // namespace scalecalc::export_room
