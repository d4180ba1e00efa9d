#pragma once

#include <vector>

#include "scalecalc/network.hpp"

namespace scalecalc {

/// In the order of their names. Written by cmake/ScalecalcEmbed.cmake from tables/architectures.
const std::vector<Preset>& embedded_architectures();

}  // namespace scalecalc
