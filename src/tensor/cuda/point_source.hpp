#pragma once

#include <string>

#include "scalecalc/activation.hpp"

namespace scalecalc::tensor::cuda {

/// What NVRTC is given: kernels forward_float(count, x, y), backward_float(count, x, dy, dx, adds)
/// and the same for double, one entry a thread.
std::string point_source(const Activation& phi);

}  // namespace scalecalc::tensor::cuda
