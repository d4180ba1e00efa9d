#pragma once

#include <vector>

#include "scalecalc/network.hpp"

namespace scalecalc {

/// The claim files of tables/claims, in the order of their names. Written by
/// cmake/ScalecalcEmbed.cmake.
const std::vector<Preset>& embedded_topics();
/// The model files beside them, which they name: "block" of block.model.
const std::vector<Preset>& embedded_claim_models();

}  // namespace scalecalc
